// SPDX-License-Identifier: Apache-2.0
// What a writer gives up when a step fails or another rank is lost.
#include <set>
#include <utility>
#include <vector>

#include "write/writer.hpp"

namespace forebay::write {

/// What has not been begun of a step that failed is not written any more.
void Writer::forget(const StepName& step) {
  failed_.insert(step);
  std::vector<std::uint64_t> tickets;
  for (const auto& [ticket, incoming] : incoming_) {
    const bool is_idle = incoming.state == State::kHere || incoming.state == State::kWanted ||
                         incoming.state == State::kGathered;
    if (incoming.offer.chunk.step == step && is_idle) tickets.push_back(ticket);
  }
  for (auto rank = ranks_.begin(); rank != ranks_.end();) {
    if (rank->first.first != step) {
      ++rank;
      continue;
    }
    for (const auto& [number, region] : rank->second.by_number)
      if (region.place && !region.is_whole()) put_down();
    rank = ranks_.erase(rank);
  }
  for (const std::uint64_t ticket : tickets)
    drop(ticket);
  ask_for_bytes();
}

void Writer::give_up(const StepName& step, const Error& why) {
  if (failed_.contains(step)) return;
  context_.report_failure(step, why);
  forget(step);
}

/// No place comes any more, and nobody closes a step, or takes what is passed on: what is written
/// already is in vain.
void Writer::lose_way(const Error& why) {
  lost_way_ = why;
  std::set<StepName> steps;
  for (const auto& [ticket, incoming] : incoming_)
    steps.insert(incoming.offer.chunk.step);
  for (const auto& [key, work] : ranks_)
    steps.insert(key.first);
  for (const StepName& step : steps)
    give_up(step, why);
}

void Writer::lost(comm::Rank rank, const Error& why) {
  const Routes& routes = context_.routes();
  const std::uint32_t me = context_.rank().number;
  const bool was_next = routes.next_of(me) == std::optional(rank.number);
  if (was_next || (routes.is_writer(me) && rank == owner())) lose_way(why);
  std::vector<std::uint64_t> tickets;
  for (const auto& [ticket, incoming] : incoming_) {
    const bool cannot_come = incoming.from == rank && incoming.state != State::kOnItsWay;
    const bool cannot_go = was_next && !is_writer_of(incoming.offer.chunk.origin);
    if (cannot_come || cannot_go) tickets.push_back(ticket);
  }
  for (const std::uint64_t ticket : tickets) {
    const StepName step = incoming_.at(ticket).offer.chunk.step;
    if (!failed_.contains(step)) context_.report_failure(step, why);
    drop(ticket);
  }
}

}  // namespace forebay::write
