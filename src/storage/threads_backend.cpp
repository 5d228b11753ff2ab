// SPDX-License-Identifier: Apache-2.0
// Two queues under one lock: workers sleep on one, the issuer on an eventfd beside the other.
// Passing an operation costs about 10 us, little beside the transfers for which it is used.
#include "storage/threads_backend.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/assert.hpp"
#include "base/processors.hpp"
#include "base/service_thread.hpp"
#include "storage/attempt.hpp"
#include "storage/fixed_queue.hpp"
#include "storage/issuer_wakeup.hpp"

namespace forebay::storage {

namespace {

class ThreadsBackend final : public Backend {
 public:
  explicit ThreadsBackend(const ThreadsOptions& options)
      : queued_(options.queue_depth), completed_(options.queue_depth), cpus_(options.worker_cpus) {}
  ~ThreadsBackend() override;
  ThreadsBackend(const ThreadsBackend&) = delete;
  ThreadsBackend& operator=(const ThreadsBackend&) = delete;

  Status start(std::size_t worker_count);

  std::string_view name() const noexcept override { return "threads"; }
  std::size_t capacity() const noexcept override { return queued_.capacity(); }
  bool can_submit(const File& /*file*/) const noexcept override { return true; }
  std::size_t submit(std::span<const Operation> operations) override;
  std::size_t wait(std::span<RawCompletion> completions, Deadline deadline) override;
  void wake() noexcept override;
  Status watch(int descriptor) override { return wakeup_.watch(descriptor); }
  bool consume_watch_event() noexcept override { return wakeup_.consume_watch_event(); }

 private:
  void run_worker();

  std::mutex mutex_;
  std::condition_variable operation_queued_;
  IssuerWakeup wakeup_;
  FixedQueue<Operation> queued_;
  FixedQueue<RawCompletion> completed_;
  std::size_t in_flight_ = 0;
  bool is_woken_ = false;
  bool is_stopping_ = false;
  const std::vector<int> cpus_;
  std::vector<std::thread> workers_;
};

ThreadsBackend::~ThreadsBackend() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    queued_.clear();
  }
  operation_queued_.notify_all();
  for (std::thread& worker : workers_)
    worker.join();
}

Status ThreadsBackend::start(std::size_t worker_count) {
  if (Status opened = wakeup_.open(); !opened) return opened;
  workers_.reserve(worker_count);
  while (workers_.size() < worker_count) {
    auto worker = start_service_thread("forebay-io", [this] { run_worker(); });
    if (!worker) return failure(worker.error());
    workers_.push_back(std::move(*worker));
  }
  return {};
}

void ThreadsBackend::run_worker() {
  set_thread_affinity(cpus_);
  std::unique_lock lock(mutex_);
  for (;;) {
    operation_queued_.wait(lock, [this] { return !queued_.empty() || is_stopping_; });
    if (is_stopping_) return;
    const Operation operation = queued_.pop();
    lock.unlock();
    const RawCompletion completion{operation.tag, attempt(operation)};
    lock.lock();
    completed_.push(completion);
    lock.unlock();
    wakeup_.notify();
    lock.lock();
  }
}

std::size_t ThreadsBackend::submit(std::span<const Operation> operations) {
  std::size_t taken = 0;
  {
    const std::lock_guard lock(mutex_);
    taken = std::min(operations.size(), capacity() - in_flight_);
    for (const Operation& operation : operations.first(taken))
      queued_.push(operation);
    in_flight_ += taken;
  }
  for (std::size_t i = 0; i < std::min(taken, workers_.size()); ++i) {
    operation_queued_.notify_one();
  }
  return taken;
}

std::size_t ThreadsBackend::wait(std::span<RawCompletion> completions, Deadline deadline) {
  std::unique_lock lock(mutex_);
  wakeup_.wait(lock, deadline, [this] { return !completed_.empty() || is_woken_; });
  is_woken_ = false;
  const std::size_t count = std::min(completions.size(), completed_.size());
  for (RawCompletion& completion : completions.first(count))
    completion = completed_.pop();
  in_flight_ -= count;
  return count;
}

void ThreadsBackend::wake() noexcept {
  const std::lock_guard lock(mutex_);  // held to the end: the woken issuer may destroy the backend
  is_woken_ = true;
  wakeup_.notify();
}

}  // namespace

Result<std::unique_ptr<Backend>> make_threads_backend(const ThreadsOptions& options) {
  FOREBAY_ASSERT(options.queue_depth > 0);
  FOREBAY_ASSERT(options.worker_count > 0);
  auto backend = std::make_unique<ThreadsBackend>(options);
  if (const Status started = backend->start(options.worker_count); !started) {
    return failure(started.error());
  }
  return backend;
}

}  // namespace forebay::storage
