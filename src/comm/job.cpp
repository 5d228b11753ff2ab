// SPDX-License-Identifier: Apache-2.0
// How ranks of one process leave, and the Error that the others get.
#include "comm/job.hpp"

#include <utility>

namespace forebay::comm {

CommunicatorState::CommunicatorState(std::vector<Rank> all_members)
    : members(std::move(all_members)),
      current_call(std::make_shared<CollectiveCall>(members.size())),
      match_queues(members.size()) {}

void InProcessJob::leave(Rank rank, const Status& outcome) {
  const std::scoped_lock lock(mutex);
  has_left[rank.number] = true;
  if (!outcome && !failure) failure = with_rank(outcome.error(), rank.number);
  changed.notify_all();
}

Error InProcessJob::departed_error(const char* operation, Rank rank) const {
  std::string cause = "rank " + std::to_string(rank.number) + " has left";
  if (failure) cause += " (" + failure->message() + ")";
  return Error({.kind = ErrorClass::kClosed, .operation = operation, .cause = std::move(cause)});
}

}  // namespace forebay::comm
