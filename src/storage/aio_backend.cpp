// SPDX-License-Identifier: Apache-2.0
// POSIX AIO has no queue of completions, and its notifications are signals of the process or new
// threads. So threads of ours sleep in aio_suspend() and ring the issuer's bell, one for each
// descriptor in use: operations of one descriptor end in order, so only the oldest is waited for.
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
#include "storage/issuer_bell.hpp"

namespace forebay::storage {

namespace {

/// glibc works for as many descriptors at a time, so more threads of ours would wait for nothing.
constexpr std::size_t kLanesMax = 20;

/// An operation under way. glibc uses `control` until aio_error() has said that it is done.
struct Slot {
  Operation operation;
  aiocb control = {};
};

/// The operations of one descriptor, the oldest first, and the thread that waits for them.
struct Lane {
  explicit Lane(std::size_t queue_depth) : under_way(queue_depth) {}

  int descriptor = -1;
  FixedQueue<Slot*> under_way;
  std::condition_variable filled;
  std::thread waiter;
};

aiocb control_of(const Operation& operation) {
  aiocb control{};
  control.aio_fildes = operation.file->descriptor();
  control.aio_offset = static_cast<off_t>(operation.offset_bytes);
  control.aio_buf = operation.memory.data();
  control.aio_nbytes = operation.memory.size();
  control.aio_sigevent.sigev_notify = SIGEV_NONE;  // zero would be SIGEV_SIGNAL
  return control;
}

/// Queues the operation with glibc. Returns an errno, or 0.
int hand_over(Slot& slot) {
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
    case OperationKind::kAllocate:  // unknown to POSIX AIO: the lane's thread does it
      break;
  }
  return result == 0 ? 0 : errno;
}

/// Blocks until the operation is done; bytes moved or -errno. aio_error() takes the lock under
/// which glibc ends an operation, so after it nobody uses `control` or the memory any more.
std::int64_t outcome_of(Slot& slot) {
  if (slot.operation.kind == OperationKind::kAllocate) return attempt(slot.operation);
  const aiocb* const control = &slot.control;
  int error_number = ::aio_error(control);
  while (error_number == EINPROGRESS) {
    if (::aio_suspend(&control, 1, nullptr) != 0) pause_after_refusal();
    error_number = ::aio_error(control);
  }
  const ssize_t moved_bytes = ::aio_return(&slot.control);
  return error_number == 0 ? moved_bytes : -error_number;
}

/// The thread sanitizer does not know the threads that glibc starts, and dies where one of them
/// starts another or ends. One, which this thread starts and which stays, does neither.
void mind_the_sanitizer() {
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
  bool accepts(const File& file) const noexcept override { return file.descriptor() >= 0; }
  std::size_t submit(std::span<const Operation> operations) override;
  std::size_t wait(std::span<RawCompletion> completions, Deadline deadline) override;
  void wake() noexcept override;
  Status watch(int descriptor) override { return bell_.watch(descriptor); }
  bool take_watched() noexcept override { return bell_.take_watched(); }

 private:
  void begin(const Operation& operation);
  Lane& lane_of(int descriptor);
  Status add_lane();
  void await(Lane& lane);

  std::mutex mutex_;
  IssuerBell bell_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  FixedQueue<RawCompletion> completed_;
  std::size_t in_flight_ = 0;
  bool woken_ = false;
  bool stopping_ = false;
};

AioBackend::AioBackend(std::size_t queue_depth) : slots_(queue_depth), completed_(queue_depth) {
  free_.reserve(queue_depth);
  for (Slot& slot : slots_)
    free_.push_back(&slot);
  lanes_.reserve(kLanesMax);
}

AioBackend::~AioBackend() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  for (const auto& lane : lanes_) {
    lane->filled.notify_one();
    lane->waiter.join();
  }
}

Status AioBackend::start() {
  if (Status opened = bell_.open(); !opened) return opened;
  const std::lock_guard lock(mutex_);
  return add_lane();
}

Status AioBackend::add_lane() {
  auto lane = std::make_unique<Lane>(capacity());
  auto waiter = start_service_thread("forebay-aio", [this, &added = *lane] { await(added); });
  if (!waiter) return failure(waiter.error());
  lane->waiter = std::move(*waiter);
  lanes_.push_back(std::move(lane));
  return {};
}

/// The thread of a lane. At the end of the backend it goes on until nothing is under way.
void AioBackend::await(Lane& lane) {
  std::unique_lock lock(mutex_);
  for (;;) {
    lane.filled.wait(lock, [&] { return !lane.under_way.empty() || stopping_; });
    if (lane.under_way.empty()) return;
    Slot& oldest = *lane.under_way.front();
    lock.unlock();
    const RawCompletion completion{oldest.operation.tag, outcome_of(oldest)};
    lock.lock();
    lane.under_way.pop();
    free_.push_back(&oldest);
    completed_.push(completion);
    lock.unlock();
    bell_.ring();
    lock.lock();
  }
}

/// The lane in which this descriptor's operations are, or an idle one, or a new one. If there can
/// be no more, another descriptor's: one that waits for a device must not hold up the rest.
Lane& AioBackend::lane_of(int descriptor) {
  Lane* idle = nullptr;
  Lane* shortest = lanes_.front().get();
  for (const auto& lane : lanes_) {
    if (lane->under_way.empty()) {
      idle = lane.get();
    } else if (lane->descriptor == descriptor) {
      return *lane;
    }
    if (lane->under_way.size() < shortest->under_way.size()) shortest = lane.get();
  }
  if (idle == nullptr && lanes_.size() < kLanesMax && add_lane()) idle = lanes_.back().get();
  if (idle == nullptr) return *shortest;
  idle->descriptor = descriptor;
  return *idle;
}

void AioBackend::begin(const Operation& operation) {
  Slot& slot = *free_.back();
  slot.operation = operation;
  slot.control = control_of(operation);
  if (const int error_number = hand_over(slot); error_number != 0) {
    completed_.push({operation.tag, -error_number});
    return;
  }
  free_.pop_back();
  Lane& lane = lane_of(operation.file->descriptor());
  lane.under_way.push(&slot);
  lane.filled.notify_one();
}

std::size_t AioBackend::submit(std::span<const Operation> operations) {
  const std::lock_guard lock(mutex_);
  const std::size_t taken = std::min(operations.size(), capacity() - in_flight_);
  for (const Operation& operation : operations.first(taken))
    begin(operation);
  in_flight_ += taken;
  return taken;
}

std::size_t AioBackend::wait(std::span<RawCompletion> completions, Deadline deadline) {
  std::unique_lock lock(mutex_);
  bell_.wait(lock, deadline, [this] { return !completed_.empty() || woken_; });
  woken_ = false;
  const std::size_t count = std::min(completions.size(), completed_.size());
  for (RawCompletion& completion : completions.first(count))
    completion = completed_.pop();
  in_flight_ -= count;
  return count;
}

void AioBackend::wake() noexcept {
  const std::lock_guard lock(mutex_);  // to the end: the woken issuer may end the backend
  woken_ = true;
  bell_.ring();
}

}  // namespace

Result<std::unique_ptr<Backend>> make_aio_backend(std::size_t queue_depth) {
  FOREBAY_ASSERT(queue_depth > 0);
  mind_the_sanitizer();
  auto backend = std::make_unique<AioBackend>(queue_depth);
  if (const Status started = backend->start(); !started) {
    return failure(started.error());
  }
  return backend;
}

}  // namespace forebay::storage
