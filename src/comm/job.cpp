// SPDX-License-Identifier: Apache-2.0
// How ranks of one process leave, and what is said to those who stay.
#include "comm/job.hpp"

#include <utility>

namespace forebay::comm {

Group::Group(std::vector<Rank> all_members)
    : members(std::move(all_members)),
      round(std::make_shared<Round>(members.size())),
      boxes(members.size()) {}

void Job::leave(Rank rank, const Status& outcome) {
  const std::scoped_lock lock(mutex);
  has_left[rank.number] = true;
  if (!outcome && !failure) failure = on_rank(outcome.error(), rank.number);
  changed.notify_all();
}

Error Job::desertion(const char* operation, Rank rank) const {
  std::string cause = "rank " + std::to_string(rank.number) + " has left";
  if (failure) cause += " (" + failure->message() + ")";
  return Error({.kind = ErrorClass::kClosed, .operation = operation, .cause = std::move(cause)});
}

}  // namespace forebay::comm
