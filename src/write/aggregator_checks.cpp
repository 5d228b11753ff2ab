// SPDX-License-Identifier: Apache-2.0
// Checks of messages against the state of an aggregator, before it acts on them.
#include <utility>

#include "write/aggregator.hpp"
#include "write/message_codec.hpp"

namespace forebay::write {

/// Checks an offer: this rank must store the chunk or forward it.
Status Aggregator::check_offer(comm::Rank from, const OfferChunkMessage& message) const {
  const auto wrong = [](const char* field, std::uint64_t value, const char* must_be) -> Status {
    return failure(malformed_message(MessageKind::kOfferChunk, field, value, must_be));
  };
  const AggregationMap& aggregation = context_.aggregation(message.chunk.step);
  const std::uint32_t origin = message.chunk.origin;
  const std::uint32_t me = context_.rank().number;
  if (origin >= aggregation.compute_rank_count())
    return wrong("origin", origin, "must be a compute rank");
  const std::uint32_t writer = aggregation.is_writer(me) ? me : aggregation.writer_of(me);
  if (aggregation.writer_of(origin) != writer)
    return wrong("origin", origin, "must be a rank whose bytes pass through this rank");
  if (chunk_id_of_.contains({from.number, message.number}))
    return wrong("number", message.number, "must be new");
  return {};
}

/// The next rank of the chain may fetch or release a forwarded chunk once.
Status Aggregator::check_forwarded(MessageKind kind, const IncomingChunk& incoming) const {
  const bool is_forwarded =
      incoming.state == State::kInFlight && !is_writer_of(incoming.offer.chunk);
  if (is_forwarded && !incoming.is_being_sent) return {};
  return failure(malformed_message(kind, "chunk", incoming.offer.number,
                                   "must be a forwarded chunk that is not being sent"));
}

/// Compares a chunk with earlier chunks of its region, and with the region count of its rank.
Status Aggregator::check_chunk(const Chunk& chunk) const {
  const auto wrong = [](const char* field, std::uint64_t value, const char* must_be) -> Status {
    return failure(malformed_message(MessageKind::kOfferChunk, field, value, must_be));
  };
  const auto rank = ranks_.find({chunk.step, chunk.origin});
  if (rank == ranks_.end()) return {};
  const RankProgress& progress = rank->second;
  if (progress.regions && chunk.region >= *progress.regions)
    return wrong("region", chunk.region, "its rank has fewer regions");
  const auto found = progress.regions_by_number.find(chunk.region);
  if (found == progress.regions_by_number.end()) return {};
  const Region& region = found->second;
  if (chunk.region_bytes != region.region_bytes)
    return wrong("region bytes", chunk.region_bytes,
                 "must be the same in all chunks of the region");
  const std::uint64_t end = chunk.offset + chunk.bytes;
  const bool fits = !region.total_bytes ||
                    (chunk.is_last ? end == *region.total_bytes : end <= *region.total_bytes);
  return fits ? Status() : wrong("bytes", chunk.bytes, "must end in the region");
}

/// Accepts a step that has failed here, because the other ranks of the file wait for this one in
/// MPI.
Status Aggregator::check_collective_start(const StepId& step,
                                          const std::vector<ByteRange>& rounds) {
  const auto wrong = [](const char* field, std::uint64_t value, const char* must_be) -> Status {
    return failure(malformed_message(MessageKind::kCollectiveStart, field, value, must_be));
  };
  if (!is_collective(step))
    return wrong("step", step.step, "the transfer_mode of this plan is not collective");
  for (const ByteRange& round : rounds)
    if (round.offset > kRegionBytesMax || round.size > kRegionBytesMax)
      return wrong("round offset", round.offset, "no file is that long");
  const auto found = ranks_.find({step, context_.rank().number});
  if (found == ranks_.end())
    return failed_steps_.contains(step) ? Status() : wrong("step", step.step, "must be ready here");
  if (!found->second.is_ready || std::exchange(found->second.is_started, true))
    return wrong("step", step.step, "must be ready here, and not written yet");
  return {};
}

}  // namespace forebay::write
