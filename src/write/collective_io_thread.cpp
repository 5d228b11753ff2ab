// SPDX-License-Identifier: Apache-2.0
#include "write/collective_io_thread.hpp"

#include <utility>

#include "base/service_thread.hpp"

namespace forebay::write {

Result<std::unique_ptr<CollectiveIoThread>> CollectiveIoThread::start(
    std::shared_ptr<comm::Communicator> group) {
  const comm::ThreadSupport support = group->thread_support();
  if (support == comm::ThreadSupport::kSingle || support == comm::ThreadSupport::kFunneled)
    return failure(
        {.kind = ErrorClass::kUnsupported,
         .operation = "write collectively",
         .cause = "MPI was initialized with thread support '" +
                  std::string(comm::name_of(support)) +
                  "'; request MPI_THREAD_MULTIPLE from MPI_Init_thread(), or choose another "
                  "strategy than collective"});
  std::unique_ptr<CollectiveIoThread> caller(new CollectiveIoThread(std::move(group)));
  auto thread = start_service_thread("fb-collective", [raw = caller.get()] { raw->run(); });
  if (!thread) return failure(thread.error());
  caller->thread_ = std::move(*thread);
  return caller;
}

CollectiveIoThread::~CollectiveIoThread() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CollectiveIoThread::submit(CollectiveWrite rounds) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(rounds));
  }
  changed_.notify_all();
}

void CollectiveIoThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
    // Submitted writes are carried out in any case: other ranks are in the calls already.
    if (queue_.empty()) return;
    const CollectiveWrite rounds = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    rounds.done(write(rounds));
    lock.lock();
  }
}

/// Makes the same calls on all ranks, whatever fails: errors are common to all.
Status CollectiveIoThread::write(const CollectiveWrite& rounds) {
  // A rank that writes its own pieces must not fill the gaps between them.
  comm::CollectiveOpenOptions how{.intent = comm::FileIntent::kCreate,
                                  .hints = {{"romio_ds_write", "disable"}}};
  if (rounds.method == CollectiveMethod::kCollective)
    how.hints.push_back({"romio_cb_write", "disable"});
  auto file = group_->open_file(rounds.path, how);
  if (!file) return failure(file.error());
  Status outcome;
  for (const ByteRange& round : rounds.rounds)
    if (outcome) outcome = (*file)->write_pieces_at_all(clip_to_round(round, rounds.pieces));
  if (outcome) outcome = (*file)->sync();
  const Status closed = (*file)->close();
  return outcome ? closed : outcome;
}

}  // namespace forebay::write
