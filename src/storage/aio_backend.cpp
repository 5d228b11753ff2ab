// SPDX-License-Identifier: Apache-2.0
// POSIX AIO has no completion queue, and its notifications are signals of the process or new
// threads. So threads of this backend sleep in aio_suspend() and notify the issuer, one for each
// descriptor in use. Operations of one descriptor end in order, so only the oldest is waited for.
#include "storage/aio_backend.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <aio.h>
#include <fcntl.h>

#include "base/assert.hpp"
#include "base/sanitizer.hpp"
#include "base/service_thread.hpp"
#include "base/sleep_until_ready.hpp"
#include "storage/attempt.hpp"
#include "storage/fixed_queue.hpp"
#include "storage/issuer_wakeup.hpp"

namespace forebay::storage {

namespace {

/// glibc executes operations of this many descriptors at a time, so more threads would gain
/// nothing.
constexpr std::size_t kDescriptorQueuesMax = 20;

/// An operation in flight. glibc uses `control` until aio_error() reports that it is done.
struct Slot {
  Operation operation;
  aiocb control = {};
};

/// The operations of one descriptor, the oldest first, and the thread that waits for them.
struct DescriptorQueue {
  explicit DescriptorQueue(std::size_t queue_depth) : in_flight(queue_depth) {}

  int descriptor = -1;
  FixedQueue<Slot*> in_flight;
  std::condition_variable not_empty;
  std::thread waiter;
};

aiocb make_control_block(const Operation& operation) {
  aiocb control{};
  control.aio_fildes = operation.file->descriptor();
  control.aio_offset = static_cast<off_t>(operation.offset_bytes);
  control.aio_buf = operation.memory.data();
  control.aio_nbytes = operation.memory.size();
  control.aio_sigevent.sigev_notify = SIGEV_NONE;  // zero would be SIGEV_SIGNAL
  return control;
}

/// Queues the operation with glibc. Returns an errno, or 0.
int submit_aio(Slot& slot) {
  int result = 0;
  switch (slot.operation.kind) {
    case OperationKind::kRead:
      result = ::aio_read(&slot.control);
      break;
    case OperationKind::kWrite:
      result = ::aio_write(&slot.control);
      break;
    case OperationKind::kSync:
      result = ::aio_fsync(O_DSYNC, &slot.control);
      break;
    case OperationKind::kAllocate:  // not in POSIX AIO: the queue's thread does it
      break;
  }
  return result == 0 ? 0 : errno;
}

/// Blocks until the operation is done; returns bytes moved or -errno. aio_error() takes the lock
/// under which glibc ends an operation, so afterwards glibc uses neither `control` nor the memory.
std::int64_t wait_for_result(Slot& slot) {
  if (slot.operation.kind == OperationKind::kAllocate) return attempt(slot.operation);
  const aiocb* const control = &slot.control;
  int error_number = ::aio_error(control);
  while (error_number == EINPROGRESS) {
    if (::aio_suspend(&control, 1, nullptr) != 0) sleep_after_failure();
    error_number = ::aio_error(control);
  }
  const ssize_t moved_bytes = ::aio_return(&slot.control);
  return error_number == 0 ? moved_bytes : -error_number;
}

/// The thread sanitizer cannot track threads of glibc, and crashes if one of them starts another or
/// ends. A single one, started by this thread and kept, avoids both.
void limit_threads_for_sanitizer() {
  if constexpr (kThreadSanitizer) {
    aioinit one_thread{};
    one_thread.aio_threads = 1;
    one_thread.aio_idle_time = INT_MAX;
    ::aio_init(&one_thread);
  }
}

class AioBackend final : public Backend {
 public:
  explicit AioBackend(std::size_t queue_depth);
  ~AioBackend() override;
  AioBackend(const AioBackend&) = delete;
  AioBackend& operator=(const AioBackend&) = delete;

  Status start();

  std::string_view name() const noexcept override { return "aio"; }
  std::size_t capacity() const noexcept override { return slots_.size(); }
  bool can_submit(const File& file) const noexcept override { return file.descriptor() >= 0; }
  std::size_t submit(std::span<const Operation> operations) override;
  std::size_t wait(std::span<RawCompletion> completions, Deadline deadline) override;
  void wake() noexcept override;
  Status watch(int descriptor) override { return wakeup_.watch(descriptor); }
  bool consume_watch_event() noexcept override { return wakeup_.consume_watch_event(); }

 private:
  void start_operation(const Operation& operation);
  DescriptorQueue& queue_for(int descriptor);
  Status add_queue();
  void run_waiter(DescriptorQueue& queue);

  std::mutex mutex_;
  IssuerWakeup wakeup_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  std::vector<std::unique_ptr<DescriptorQueue>> queues_;
  FixedQueue<RawCompletion> completed_;
  std::size_t in_flight_ = 0;
  bool is_woken_ = false;
  bool is_stopping_ = false;
};

AioBackend::AioBackend(std::size_t queue_depth) : slots_(queue_depth), completed_(queue_depth) {
  free_.reserve(queue_depth);
  for (Slot& slot : slots_)
    free_.push_back(&slot);
  queues_.reserve(kDescriptorQueuesMax);
}

AioBackend::~AioBackend() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  for (const auto& queue : queues_) {
    queue->not_empty.notify_one();
    queue->waiter.join();
  }
}

Status AioBackend::start() {
  if (Status opened = wakeup_.open(); !opened) return opened;
  const std::lock_guard lock(mutex_);
  return add_queue();
}

Status AioBackend::add_queue() {
  auto queue = std::make_unique<DescriptorQueue>(capacity());
  auto waiter = start_service_thread("forebay-aio", [this, &added = *queue] { run_waiter(added); });
  if (!waiter) return failure(waiter.error());
  queue->waiter = std::move(*waiter);
  queues_.push_back(std::move(queue));
  return {};
}

/// The thread of a queue. After is_stopping_ it continues until no operation is in flight.
void AioBackend::run_waiter(DescriptorQueue& queue) {
  std::unique_lock lock(mutex_);
  for (;;) {
    queue.not_empty.wait(lock, [&] { return !queue.in_flight.empty() || is_stopping_; });
    if (queue.in_flight.empty()) return;
    Slot& oldest = *queue.in_flight.front();
    lock.unlock();
    const RawCompletion completion{oldest.operation.tag, wait_for_result(oldest)};
    lock.lock();
    queue.in_flight.pop();
    free_.push_back(&oldest);
    completed_.push(completion);
    lock.unlock();
    wakeup_.notify();
    lock.lock();
  }
}

/// The queue with operations of this descriptor, else an idle one, else a new one. At the limit,
/// the shortest queue of another descriptor: a descriptor that waits for a device must not block
/// the others.
DescriptorQueue& AioBackend::queue_for(int descriptor) {
  DescriptorQueue* idle = nullptr;
  DescriptorQueue* shortest = queues_.front().get();
  for (const auto& queue : queues_) {
    if (queue->in_flight.empty()) {
      idle = queue.get();
    } else if (queue->descriptor == descriptor) {
      return *queue;
    }
    if (queue->in_flight.size() < shortest->in_flight.size()) shortest = queue.get();
  }
  if (idle == nullptr && queues_.size() < kDescriptorQueuesMax && add_queue())
    idle = queues_.back().get();
  if (idle == nullptr) return *shortest;
  idle->descriptor = descriptor;
  return *idle;
}

void AioBackend::start_operation(const Operation& operation) {
  Slot& slot = *free_.back();
  slot.operation = operation;
  slot.control = make_control_block(operation);
  if (const int error_number = submit_aio(slot); error_number != 0) {
    completed_.push({operation.tag, -error_number});
    return;
  }
  free_.pop_back();
  DescriptorQueue& queue = queue_for(operation.file->descriptor());
  queue.in_flight.push(&slot);
  queue.not_empty.notify_one();
}

std::size_t AioBackend::submit(std::span<const Operation> operations) {
  const std::lock_guard lock(mutex_);
  const std::size_t taken = std::min(operations.size(), capacity() - in_flight_);
  for (const Operation& operation : operations.first(taken))
    start_operation(operation);
  in_flight_ += taken;
  return taken;
}

std::size_t AioBackend::wait(std::span<RawCompletion> completions, Deadline deadline) {
  std::unique_lock lock(mutex_);
  wakeup_.wait(lock, deadline, [this] { return !completed_.empty() || is_woken_; });
  is_woken_ = false;
  const std::size_t count = std::min(completions.size(), completed_.size());
  for (RawCompletion& completion : completions.first(count))
    completion = completed_.pop();
  in_flight_ -= count;
  return count;
}

void AioBackend::wake() noexcept {
  const std::lock_guard lock(mutex_);  // held to the end: the woken issuer may destroy the backend
  is_woken_ = true;
  wakeup_.notify();
}

}  // namespace

Result<std::unique_ptr<Backend>> make_aio_backend(std::size_t queue_depth) {
  FOREBAY_ASSERT(queue_depth > 0);
  limit_threads_for_sanitizer();
  auto backend = std::make_unique<AioBackend>(queue_depth);
  if (const Status started = backend->start(); !started) {
    return failure(started.error());
  }
  return backend;
}

}  // namespace forebay::storage
