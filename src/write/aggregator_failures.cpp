// SPDX-License-Identifier: Apache-2.0
// What an aggregator discards when a step ends or fails, or when another rank is lost.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "write/aggregator.hpp"

namespace forebay::write {

/// Discards the chunks of a failed step, except those whose transfer has begun.
void Aggregator::discard_step(const StepId& step) {
  failed_steps_.insert(step);
  std::vector<std::uint64_t> chunk_ids;
  for (const auto& [chunk_id, incoming] : incoming_) {
    const bool is_idle = incoming.state == State::kReadable || incoming.state == State::kQueued ||
                         incoming.state == State::kCollectivePending;
    if (incoming.offer.chunk.step == step && is_idle) chunk_ids.push_back(chunk_id);
  }
  for (auto rank = ranks_.begin(); rank != ranks_.end();) {
    if (rank->first.first != step) {
      ++rank;
      continue;
    }
    for (const auto& [number, region] : rank->second.regions_by_number)
      if (region.file_offset && !region.is_whole()) close_region(step);
    rank = ranks_.erase(rank);
  }
  for (const std::uint64_t chunk_id : chunk_ids)
    release_chunk(chunk_id);
  fetch_queued_chunks();
}

void Aggregator::fail_step(const StepId& step, const Error& why) {
  if (failed_steps_.contains(step)) return;
  context_.report_failure(step, why);
  discard_step(step);
}

/// Why bytes of a step cannot be written or forwarded any more: the file owner or the next rank of
/// the chain is lost.
std::optional<Error> Aggregator::route_error(const StepId& step) const {
  if (lost_ranks_.empty()) return std::nullopt;
  const AggregationMap& aggregation = context_.aggregation(step);
  const std::uint32_t me = context_.rank().number;
  const RankNumber needed =
      aggregation.is_writer(me) ? owner(step).number : aggregation.next_hop(me).value_or(me);
  const auto lost = lost_ranks_.find(needed);
  if (lost == lost_ranks_.end()) return std::nullopt;
  return lost->second;
}

/// Fails the steps with a route_error(), even if all their bytes are written.
void Aggregator::fail_unreachable_steps() {
  std::set<StepId> steps;
  for (const auto& [chunk_id, incoming] : incoming_)
    steps.insert(incoming.offer.chunk.step);
  for (const auto& [key, progress] : ranks_)
    steps.insert(key.first);
  for (const StepId& step : steps)
    if (const auto why = route_error(step)) fail_step(step, *why);
}

void Aggregator::handle_rank_lost(comm::Rank rank, const Error& why) {
  lost_ranks_.emplace(rank.number, why);
  fail_unreachable_steps();
  std::vector<std::uint64_t> chunk_ids;
  for (const auto& [chunk_id, incoming] : incoming_) {
    const StepId& step = incoming.offer.chunk.step;
    const auto next = context_.aggregation(step).next_hop(context_.rank().number);
    const bool is_source_lost = incoming.from == rank && incoming.state != State::kInFlight;
    const bool is_route_lost = next == std::optional(rank.number);
    if (is_source_lost || is_route_lost) chunk_ids.push_back(chunk_id);
  }
  for (const std::uint64_t chunk_id : chunk_ids) {
    const StepId step = incoming_.at(chunk_id).offer.chunk.step;
    if (!failed_steps_.contains(step)) context_.report_failure(step, why);
    release_chunk(chunk_id);
  }
}

void Aggregator::handle_step_outcome(const StepId& step, const Status& outcome) {
  finished_ranks_.erase(step);
  if (!outcome) discard_step(step);
  // The file of a failed step was removed, but its space is freed only when it is closed. The file
  // may have other steps nevertheless, if ranks have begun different steps.
  if (context_.plan().tuning.steps_per_group == 1 && !has_work_in(step.group))
    files_.erase(step.group);
  // All steps before a published step are resolved. Steps before a failed one may not be.
  if (outcome) std::erase_if(files_, [&](const auto& file) { return file.first < step.group; });
}

bool Aggregator::has_work_in(std::uint64_t group) const {
  return std::ranges::any_of(ranks_, [group](const auto& one) {
    const StepId& step = one.first.first;
    return step.group == group;
  });
}

}  // namespace forebay::write
