// SPDX-License-Identifier: Apache-2.0
// Handles a rank's steps from the first chunk to the Receipt.
#include "write/step_producer.hpp"

#include <algorithm>
#include <utility>

#include "comm/error_bytes.hpp"
#include "write/hashed_copy.hpp"
#include "write/message_codec.hpp"

namespace forebay::write {

namespace {

/// Replaces offsets in regions by offsets in the file. A block without bytes gets the first valid
/// offset of a block.
void apply_region_offsets(RankMetadata& record, const std::vector<std::uint64_t>& region_offsets) {
  for (BlockRecord& block : record.blocks)
    block.offset = block.region == kNoRegion ? format::kPageBytes
                                             : block.offset + region_offsets[block.region];
}

std::uint64_t count_ns(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
}

}  // namespace

void StepProducer::begin(const StepId& step) {
  StepState& own = steps_.try_emplace(step).first->second;
  last_begun_ = step;
  if (const auto failed = failed_early_.find(step); failed != failed_early_.end())
    own.failure = failed->second;
  failed_early_.erase(failed_early_.begin(), failed_early_.upper_bound(step));
  const auto gone = std::ranges::find_if(
      lost_ranks_, [&](const auto& one) { return depends_on(step, one.first); });
  if (gone != lost_ranks_.end()) fail_and_report(step, gone->second);
}

void StepProducer::offer(PackedChunk packed) {
  const std::uint64_t number = next_chunk_++;
  const Chunk chunk = packed.chunk;
  StepState& own = steps_.at(chunk.step);
  if (own.failure) return packed.release();
  for (const PieceToHash& piece : packed.to_hash)
    pieces_to_hash_.push_back({chunk.step, number, piece});
  own.pieces_left += packed.to_hash.size();
  const OfferChunkMessage message{chunk, number, packed.memory, packed.memory_offset};
  const std::size_t pieces = packed.to_hash.size();
  held_.emplace(number, HeldChunk{std::move(packed), true, pieces});
  const comm::Rank me = context_.rank();
  const AggregationMap& aggregation = context_.aggregation(chunk.step);
  const comm::Rank next{aggregation.next_hop(me.number).value_or(me.number)};
  context_.send(next, MessageKind::kOfferChunk, message_words(chunk.step), to_bytes(message));
}

void StepProducer::commit(const StepId& step, CommittedStep committed) {
  StepState& own = steps_.at(step);
  const auto me = context_.rank();
  const comm::Rank writer{context_.aggregation(step).writer_of(me.number)};
  const comm::Rank coordinator{AggregationMap::coordinator()};
  own.committed.emplace(std::move(committed));
  const RankMetadata& record = own.committed->record;
  if (own.failure) return handle_step_outcome(step, Status(tl::unexpect, *own.failure));
  context_.send(writer, MessageKind::kRegionCount, message_words(step, record.regions), {});
  const auto elapsed = std::chrono::steady_clock::now() - own.committed->begun_at;
  context_.send(coordinator, MessageKind::kRankCommitted, message_words(step, count_ns(elapsed)),
                to_bytes(summary_of(record)));
  send_metadata_if_complete(step, own);
}

void StepProducer::abort_step(const StepId& step, const Error& why) {
  steps_.at(step).is_aborted = true;
  fail_and_report(step, why);
}

void StepProducer::fail_and_report(const StepId& step, const Error& why) {
  context_.report_failure(step, why);
  fail_step(step, why);
}

void StepProducer::cancel_step(const StepId& step, const Error& why) {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return;
  StepState& own = found->second;
  context_.report_failure(step, why);
  if (!own.failure) own.failure = why;
  own.is_cancelled = true;
  leave_if_done();
}

void StepProducer::leave() {
  is_leaving_ = true;
  leave_if_done();
}

Status StepProducer::handle_fetch_chunk(comm::Rank to, std::uint64_t chunk_number) {
  const auto found = held_.find(chunk_number);
  if (found == held_.end()) return {};  // its step has failed meanwhile
  HeldChunk& held = found->second;
  if (!held.is_in_use_downstream || held.is_being_sent)
    return failure(malformed_message(MessageKind::kFetchChunk, "chunk", chunk_number,
                                     "its bytes were sent already"));
  held.is_being_sent = true;
  context_.send_in_place(
      to, MessageKind::kChunkData, message_words(held.packed.chunk.step, chunk_number),
      held.packed.bytes,
      [this, chunk_number](const Status& /*sent*/) { mark_unused_downstream(chunk_number); });
  return {};
}

Status StepProducer::handle_release_chunk(std::uint64_t chunk_number) {
  const auto found = held_.find(chunk_number);
  if (found != held_.end() && found->second.is_being_sent)
    return failure(malformed_message(MessageKind::kReleaseChunk, "chunk", chunk_number,
                                     "its bytes are being sent"));
  mark_unused_downstream(chunk_number);
  return {};
}

/// Called when no other rank, and no write, needs the memory of this chunk.
void StepProducer::mark_unused_downstream(std::uint64_t chunk_number) {
  const auto found = held_.find(chunk_number);
  if (found == held_.end()) return;
  found->second.is_in_use_downstream = false;
  release_if_unused(chunk_number);
}

void StepProducer::release_if_unused(std::uint64_t chunk_number) {
  const auto found = held_.find(chunk_number);
  if (found->second.is_in_use_downstream || found->second.pieces_left > 0) return;
  found->second.packed.release();
  held_.erase(found);
}

bool StepProducer::is_hashing_only_user() const {
  return !pieces_to_hash_.empty() && !held_.at(pieces_to_hash_.front().chunk).is_in_use_downstream;
}

bool StepProducer::hash_next_piece() {
  if (pieces_to_hash_.empty()) return false;
  const PendingChecksum waiting = pieces_to_hash_.front();
  pieces_to_hash_.pop_front();
  const std::uint64_t checksum = hash_of(waiting.piece.bytes, waiting.piece.seed);
  StepState& own = steps_.at(waiting.step);
  own.hashes.emplace_back(waiting.piece.number, checksum);
  --own.pieces_left;
  --held_.at(waiting.chunk).pieces_left;
  release_if_unused(waiting.chunk);
  send_metadata_if_complete(waiting.step, own);
  // The outcome of a failed step is reported when its last piece is hashed.
  if (own.failure) handle_step_outcome(waiting.step, Status(tl::unexpect, *own.failure));
  return true;
}

Status StepProducer::handle_regions_written(const StepId& step,
                                            std::vector<std::uint64_t> offsets) {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return {};
  StepState& own = found->second;
  if (!own.committed || own.region_offsets || offsets.size() != own.committed->record.regions)
    return failure(malformed_message(MessageKind::kRegionsWritten, "offsets", offsets.size(),
                                     "must be one for each region of a step that is committed"));
  for (const std::uint64_t offset : offsets)
    if (offset > kRegionBytesMax)
      return failure(malformed_message(MessageKind::kRegionsWritten, "offset", offset,
                                       "no file is that long"));
  own.region_offsets = std::move(offsets);
  send_metadata_if_complete(step, own);
  return {};
}

void StepProducer::send_metadata_if_complete(const StepId& step, StepState& own) {
  if (!own.committed || !own.region_offsets || own.pieces_left > 0 || own.is_metadata_sent ||
      own.failure)
    return;
  own.is_metadata_sent = true;
  RankMetadata record = own.committed->record;
  apply_region_offsets(record, *own.region_offsets);
  for (const auto& [piece, checksum] : own.hashes)
    record.piece_checksums[piece] = checksum;
  const auto me = context_.rank();
  const AggregationMap& aggregation = context_.aggregation(step);
  const comm::Rank owner{aggregation.owner_of(aggregation.file_of(me.number))};
  const comm::Bytes encoded = to_bytes(record);
  context_.send_fragmented(owner, MessageKind::kRankMetadata, message_words(step, encoded.size()),
                           encoded);
}

/// Resolves the step on this rank. Its memory is released when other ranks no longer need it.
void StepProducer::fail_step(const StepId& step, const Error& why) {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return;
  if (!found->second.failure) found->second.failure = why;
  handle_step_outcome(step, Status(tl::unexpect, *found->second.failure));
}

void StepProducer::handle_step_outcome(const StepId& step, const Status& outcome) {
  const auto found = steps_.find(step);
  if (found == steps_.end()) {
    // Another rank may fail in a step that this rank has not begun. The outcome is sent only once,
    // so it is kept.
    const bool is_not_begun = !last_begun_ || step > *last_begun_;
    if (is_not_begun && !outcome) failed_early_.emplace(step, outcome.error());
    return;
  }
  StepState& own = found->second;
  if (!outcome && !own.failure) own.failure = outcome.error();
  // A step that is not committed yet fails at commit(). Pieces that are not hashed yet need the
  // memory of the step.
  if ((!own.committed && !own.is_aborted) || own.pieces_left > 0) return;
  const Status final_status = own.failure ? Status(tl::unexpect, *own.failure) : outcome;
  std::optional<CommittedStep> committed = std::move(own.committed);
  steps_.erase(found);
  // Updates the counters before the application can see the outcome.
  on_resolved_(step, final_status);
  if (committed) complete_commit(*committed, final_status);
  leave_if_done();
}

void StepProducer::complete_commit(CommittedStep& committed, const Status& outcome) {
  committed.receipt.durable_time = std::chrono::steady_clock::now() - committed.begun_at;
  if (outcome)
    committed.promise.set(committed.receipt);
  else
    committed.promise.set(failure(outcome.error()));
}

void StepProducer::leave_if_done() {
  const auto is_cancelled = [](const auto& one) { return one.second.is_cancelled; };
  if (!is_leaving_ || has_left_ || !std::ranges::all_of(steps_, is_cancelled)) return;
  has_left_ = true;
  context_.send(comm::Rank{AggregationMap::coordinator()}, MessageKind::kLeave, {}, {});
}

void StepProducer::handle_rank_lost(comm::Rank rank, const Error& why) {
  lost_ranks_.emplace(rank.number, why);
  std::vector<std::uint64_t> chunks;
  for (const auto& [number, held] : held_) {
    const AggregationMap& aggregation = context_.aggregation(held.packed.chunk.step);
    if (aggregation.next_hop(context_.rank().number) == std::optional(rank.number))
      chunks.push_back(number);
  }
  for (const std::uint64_t chunk : chunks)
    mark_unused_downstream(chunk);
  const bool is_coordinator_lost = lost_ranks_.contains(AggregationMap::coordinator());
  std::vector<StepId> steps_to_fail;
  for (const auto& [step, own] : steps_) {
    if (!depends_on(step, rank.number)) continue;
    // All bytes of this rank are written, so the step may already be published. Only the
    // coordinator decides the outcome.
    if (own.is_metadata_sent && !is_coordinator_lost)
      context_.report_failure(step, why);
    else
      steps_to_fail.push_back(step);
  }
  for (const StepId& step : steps_to_fail)
    fail_and_report(step, why);
}

bool StepProducer::depends_on(const StepId& step, std::uint32_t rank) const {
  return context_.aggregation(step).depends_on(context_.rank().number, rank);
}

void StepProducer::shut_down(const Error& why) {
  pieces_to_hash_.clear();
  for (auto& [step, own] : steps_)
    own.pieces_left = 0;
  for (auto& [number, held] : std::exchange(held_, {}))
    held.packed.release();
  std::vector<StepId> steps_to_fail;
  for (const auto& [step, own] : steps_)
    steps_to_fail.push_back(step);
  for (const StepId& step : steps_to_fail)
    fail_step(step, why);
  for (auto& [step, own] : std::exchange(steps_, {}))
    on_resolved_(step, Status(tl::unexpect, why));
}

}  // namespace forebay::write
