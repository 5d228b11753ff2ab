// SPDX-License-Identifier: Apache-2.0
#include "write/round_caller.hpp"

#include <utility>

#include "base/service_thread.hpp"

namespace forebay::write {

Result<std::unique_ptr<RoundCaller>> RoundCaller::start(std::shared_ptr<comm::Communicator> group) {
  const comm::ThreadSupport support = group->thread_support();
  if (support == comm::ThreadSupport::kSingle || support == comm::ThreadSupport::kFunneled)
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "write collectively",
                    .cause = "MPI was initialised with thread support '" +
                             std::string(comm::name_of(support)) +
                             "': ask MPI_Init_thread for MPI_THREAD_MULTIPLE, or take another "
                             "strategy than collective"});
  std::unique_ptr<RoundCaller> caller(new RoundCaller(std::move(group)));
  auto thread = start_service_thread("fb-collective", [raw = caller.get()] { raw->live(); });
  if (!thread) return failure(thread.error());
  caller->thread_ = std::move(*thread);
  return caller;
}

RoundCaller::~RoundCaller() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RoundCaller::add(Rounds rounds) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(rounds));
  }
  changed_.notify_all();
}

void RoundCaller::live() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !queue_.empty(); });
    // What all were told to begin is carried out: the others are in it already.
    if (queue_.empty()) return;
    const Rounds rounds = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    rounds.done(write(rounds));
    lock.lock();
  }
}

/// The same calls on all ranks, whatever fails on the way: errors are common to all.
Status RoundCaller::write(const Rounds& rounds) {
  // A rank that writes its own pieces must not fill what lies between them.
  comm::CollectiveOpen how{.intent = comm::FileIntent::kCreate,
                           .hints = {{"romio_ds_write", "disable"}}};
  if (rounds.means == RoundMeans::kOwnPieces) how.hints.push_back({"romio_cb_write", "disable"});
  auto file = group_->open_file(rounds.path, how);
  if (!file) return failure(file.error());
  Status outcome;
  for (const ByteRange& round : rounds.rounds)
    if (outcome) outcome = (*file)->write_pieces_at_all(pieces_in(round, rounds.pieces));
  if (outcome) outcome = (*file)->sync();
  const Status closed = (*file)->close();
  return outcome ? closed : outcome;
}

}  // namespace forebay::write
