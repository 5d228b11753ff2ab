// SPDX-License-Identifier: Apache-2.0
#include "write/collective_io_thread.hpp"

#include <utility>

#include "base/service_thread.hpp"

namespace forebay::write {

Result<std::unique_ptr<CollectiveIoThread>> CollectiveIoThread::start(
    std::shared_ptr<comm::Communicator> file_ranks) {
  const comm::ThreadSupport support = file_ranks->thread_support();
  if (support == comm::ThreadSupport::kSingle || support == comm::ThreadSupport::kFunneled)
    return failure(
        {.kind = ErrorClass::kUnsupported,
         .operation = "write collectively",
         .cause = "MPI was initialized with thread support '" +
                  std::string(comm::name_of(support)) +
                  "'; request MPI_THREAD_MULTIPLE from MPI_Init_thread(), or choose another "
                  "strategy than collective"});
  std::unique_ptr<CollectiveIoThread> io_thread(new CollectiveIoThread(std::move(file_ranks)));
  auto thread = start_service_thread("fb-collective", [raw = io_thread.get()] { raw->run(); });
  if (!thread) return failure(thread.error());
  io_thread->thread_ = std::move(*thread);
  return io_thread;
}

CollectiveIoThread::~CollectiveIoThread() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CollectiveIoThread::submit(CollectiveWrite collective_write) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(collective_write));
  }
  changed_.notify_all();
}

void CollectiveIoThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
    // Submitted writes are always made, because other ranks are already in these calls.
    if (queue_.empty()) return;
    const CollectiveWrite collective_write = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    collective_write.done(write(collective_write));
    lock.lock();
  }
}

/// All ranks make the same calls, because each call returns the same Status on all of them.
Status CollectiveIoThread::write(const CollectiveWrite& collective_write) {
  // Data sieving would fill the gaps between the segments of a rank.
  comm::CollectiveOpenOptions options{.intent = comm::FileIntent::kCreate,
                                      .hints = {{"romio_ds_write", "disable"}}};
  if (collective_write.method == CollectiveMethod::kUnaggregated)
    options.hints.push_back({"romio_cb_write", "disable"});
  auto file = file_ranks_->open_file(collective_write.path, options);
  if (!file) return failure(file.error());
  Status outcome;
  for (const ByteRange& round : collective_write.rounds)
    if (outcome)
      outcome = (*file)->write_segments_at_all(clip_to_round(round, collective_write.segments));
  if (outcome) outcome = (*file)->sync();
  const Status closed = (*file)->close();
  return outcome ? closed : outcome;
}

}  // namespace forebay::write
