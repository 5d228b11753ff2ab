// SPDX-License-Identifier: Apache-2.0
// What an aggregator does with transfer mode collective.
#include <algorithm>
#include <utility>

#include "format/catalog.hpp"
#include "write/aggregator.hpp"

namespace forebay::write {

std::vector<std::uint64_t> Aggregator::collective_chunks(const StepId& step) const {
  std::vector<std::uint64_t> chunk_ids;
  for (const auto& [chunk_id, incoming] : incoming_)
    if (incoming.state == State::kCollectivePending && incoming.offer.chunk.step == step)
      chunk_ids.push_back(chunk_id);
  return chunk_ids;
}

/// Reports to the file owner once each byte of this rank's step is written or has its offset. The
/// rank can then join the rounds at once.
void Aggregator::report_if_ready(const StepId& step) {
  const std::uint32_t me = context_.rank().number;
  const auto found = ranks_.find({step, me});
  if (!is_collective(step) || found == ranks_.end()) return;
  RankProgress& progress = found->second;
  if (progress.is_ready || !progress.regions ||
      progress.regions_by_number.size() < *progress.regions)
    return;
  const auto chunk_ids = collective_chunks(step);
  std::uint64_t missing = 0;
  for (const auto& [number, region] : progress.regions_by_number) {
    if (!region.total_bytes || !region.file_offset) return;
    missing += *region.total_bytes - region.bytes_written;
  }
  std::vector<ByteRange> ranges;
  for (const std::uint64_t chunk_id : chunk_ids) {
    const comm::FileSegment file_segment = file_segment_of(chunk_id);
    ranges.push_back({file_segment.offset_bytes, file_segment.bytes.size()});
    missing -= file_segment.bytes.size();
  }
  if (missing > 0) return;
  progress.is_ready = true;
  context_.send(owner(step), MessageKind::kCollectiveReady, message_words(step),
                comm::list_to_bytes<ByteRange>(coalesce(std::move(ranges))));
}

/// Writes each chunk of a collective step independently. handle_write_completion() reports them as
/// in other transfer modes.
void Aggregator::write_collective_independently(const StepId& step) {
  const RankKey key{step, context_.rank().number};
  const auto found = ranks_.find(key);
  if (found == ranks_.end()) return;
  found->second.is_collective_done = true;
  for (const std::uint64_t chunk_id : collective_chunks(step))
    submit_write(chunk_id);
  report_if_complete(key);
}

Status Aggregator::handle_collective_start(const StepId& step,
                                           CollectiveMethod method,
                                           std::vector<ByteRange> rounds) {
  if (Status checked = check_collective_start(step, rounds); !checked) return checked;
  if (method == CollectiveMethod::kIndependent) {
    write_collective_independently(step);
    return {};
  }
  const auto chunk_ids = collective_chunks(step);
  CollectiveWrite collective_write;
  collective_write.method = method;
  collective_write.path = format::data_path(context_.path(), file_of(step));
  collective_write.rounds = std::move(rounds);
  for (const std::uint64_t chunk_id : chunk_ids) {
    incoming_.at(chunk_id).state = State::kInFlight;
    collective_write.segments.push_back(file_segment_of(chunk_id));
  }
  std::ranges::sort(collective_write.segments, {}, &comm::FileSegment::offset_bytes);
  collective_write.done = [this, step, chunk_ids](const Status& outcome) {
    context_.post([this, step, chunk_ids, outcome] {
      for (const std::uint64_t chunk_id : chunk_ids)
        handle_write_completion(chunk_id, outcome);
      handle_collective_completion(step, outcome);
    });
  };
  context_.collective_io_thread()->submit(std::move(collective_write));
  return {};
}

/// Reports the regions here, not after the last chunk, because ranks without bytes take part, too.
void Aggregator::handle_collective_completion(const StepId& step, const Status& outcome) {
  if (!outcome) context_.report_failure(step, outcome.error());
  const RankKey key{step, context_.rank().number};
  const auto found = ranks_.find(key);
  if (found == ranks_.end()) return;
  found->second.is_collective_done = true;
  if (outcome) report_if_complete(key);
}

void Aggregator::write_pending_independently(const StepId& step) {
  memory_wait_step_ = step;
  std::vector<std::uint64_t> chunk_ids;
  for (const auto& [chunk_id, incoming] : incoming_) {
    if (incoming.state != State::kCollectivePending) continue;
    const auto found = ranks_.find({incoming.offer.chunk.step, incoming.offer.chunk.origin});
    const bool is_announced = found != ranks_.end() && found->second.is_ready;
    if (!is_announced) chunk_ids.push_back(chunk_id);
  }
  for (const std::uint64_t chunk_id : chunk_ids)
    submit_write(chunk_id);
}

}  // namespace forebay::write
