// SPDX-License-Identifier: Apache-2.0
// A rank's own steps, from the first chunk to the receipt.
#include "write/member.hpp"

#include <algorithm>
#include <utility>

#include "comm/error_bytes.hpp"
#include "write/hashed_copy.hpp"
#include "write/letter_bytes.hpp"

namespace forebay::write {

namespace {

/// Places in the file instead of places in regions; what has no bytes lies where there might be
/// some.
void settle(RankStep& record, const std::vector<std::uint64_t>& places) {
  for (BlockRecord& block : record.blocks)
    block.offset =
        block.region == kNoRegion ? format::kPageBytes : block.offset + places[block.region];
}

}  // namespace

void Member::begin(const StepName& step) {
  OwnStep& own = steps_.try_emplace(step).first->second;
  last_begun_ = step;
  if (const auto failed = failed_before_.find(step); failed != failed_before_.end())
    own.failure = failed->second;
  failed_before_.erase(failed_before_.begin(), failed_before_.upper_bound(step));
  const auto gone =
      std::ranges::find_if(lost_, [this](const auto& one) { return depends_on(one.first); });
  if (gone != lost_.end()) abandon_for(step, gone->second);
}

void Member::offer(PackedChunk packed) {
  const std::uint64_t number = next_chunk_++;
  const Chunk chunk = packed.chunk;
  OwnStep& own = steps_.at(chunk.step);
  if (own.failure) return packed.release();
  for (const PieceToHash& piece : packed.to_hash)
    to_hash_.push_back({chunk.step, number, piece});
  own.pieces_left += packed.to_hash.size();
  const OfferLetter letter{chunk, number, packed.memory, packed.memory_offset};
  const std::size_t pieces = packed.to_hash.size();
  held_.emplace(number, Held{std::move(packed), true, pieces});
  const comm::Rank me = context_.rank();
  const comm::Rank next{context_.routes().next_of(me.number).value_or(me.number)};
  context_.send(next, LetterKind::kOffer, {}, to_bytes(letter));
}

void Member::commit(const StepName& step, CommittedStep committed) {
  OwnStep& own = steps_.at(step);
  const auto me = context_.rank();
  const comm::Rank writer{context_.routes().writer_of(me.number)};
  const comm::Rank coordinator{Routes::coordinator()};
  own.committed.emplace(std::move(committed));
  const RankStep& record = own.committed->record;
  if (own.failure) return resolved(step, Status(tl::unexpect, *own.failure));
  context_.send(writer, LetterKind::kFinish, words_of(step, record.regions, me.number), {});
  context_.send(coordinator, LetterKind::kAnnounce, words_of(step), fields_to_bytes(record.fields));
  send_part_if_complete(step, own);
}

void Member::abandon(const StepName& step, const Error& why) {
  steps_.at(step).is_abandoned = true;
  abandon_for(step, why);
}

void Member::abandon_for(const StepName& step, const Error& why) {
  context_.report_failure(step, why);
  fail(step, why);
}

void Member::withdraw(const StepName& step, const Error& why) {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return;
  OwnStep& own = found->second;
  context_.report_failure(step, why);
  if (!own.failure) own.failure = why;
  own.is_withdrawn = true;
  leave_if_done();
}

void Member::leave() {
  is_leaving_ = true;
  leave_if_done();
}

Status Member::send_bytes(comm::Rank to, std::uint64_t chunk) {
  const auto found = held_.find(chunk);
  if (found == held_.end()) return {};  // its step has failed meanwhile
  Held& held = found->second;
  if (!held.is_needed_elsewhere || held.is_being_sent)
    return failure(malformed(LetterKind::kSend, "chunk", chunk, "its bytes were sent already"));
  held.is_being_sent = true;
  context_.send_in_place(to, LetterKind::kBytes, {chunk}, held.packed.bytes,
                         [this, chunk](const Status& /*sent*/) { give_back(chunk); });
  return {};
}

Status Member::taken(std::uint64_t chunk) {
  const auto found = held_.find(chunk);
  if (found != held_.end() && found->second.is_being_sent)
    return failure(malformed(LetterKind::kTaken, "chunk", chunk, "its bytes are being sent"));
  give_back(chunk);
  return {};
}

/// No other rank needs its memory any more.
void Member::give_back(std::uint64_t chunk) {
  const auto found = held_.find(chunk);
  if (found == held_.end()) return;
  found->second.is_needed_elsewhere = false;
  let_go(chunk);
}

void Member::let_go(std::uint64_t chunk) {
  const auto found = held_.find(chunk);
  if (found->second.is_needed_elsewhere || found->second.pieces_left > 0) return;
  found->second.packed.release();
  held_.erase(found);
}

bool Member::is_hashing_awaited() const {
  return !to_hash_.empty() && !held_.at(to_hash_.front().chunk).is_needed_elsewhere;
}

bool Member::hash_a_piece() {
  if (to_hash_.empty()) return false;
  const Waiting waiting = to_hash_.front();
  to_hash_.pop_front();
  const std::uint64_t checksum = hash_of(waiting.piece.bytes, waiting.piece.seed);
  OwnStep& own = steps_.at(waiting.step);
  own.hashes.emplace_back(waiting.piece.number, checksum);
  --own.pieces_left;
  --held_.at(waiting.chunk).pieces_left;
  let_go(waiting.chunk);
  send_part_if_complete(waiting.step, own);
  // Committed or abandoned meanwhile, it waited for this.
  if (own.failure) resolved(waiting.step, Status(tl::unexpect, *own.failure));
  return true;
}

Status Member::written(const StepName& step, std::vector<std::uint64_t> places) {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return {};
  OwnStep& own = found->second;
  if (!own.committed || own.places || places.size() != own.committed->record.regions)
    return failure(malformed(LetterKind::kWritten, "places", places.size(),
                             "must be one for each region of a step that is committed"));
  for (const std::uint64_t place : places)
    if (place > kRegionBytesMax)
      return failure(malformed(LetterKind::kWritten, "place", place, "no file is that long"));
  own.places = std::move(places);
  send_part_if_complete(step, own);
  return {};
}

void Member::send_part_if_complete(const StepName& step, OwnStep& own) {
  if (!own.committed || !own.places || own.pieces_left > 0 || own.is_told || own.failure) return;
  own.is_told = true;
  RankStep record = own.committed->record;
  settle(record, *own.places);
  for (const auto& [piece, checksum] : own.hashes)
    record.piece_checksums[piece] = checksum;
  const auto me = context_.rank();
  const Routes& routes = context_.routes();
  const comm::Rank owner{routes.owner_of(routes.file_of(me.number))};
  const comm::Bytes part = to_bytes(record);
  context_.send_in_pieces(owner, LetterKind::kPart, words_of(step, part.size()), part);
}

/// The step is over here; its memory comes back as others let go of it.
void Member::fail(const StepName& step, const Error& why) {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return;
  if (!found->second.failure) found->second.failure = why;
  resolved(step, Status(tl::unexpect, *found->second.failure));
}

void Member::resolved(const StepName& step, const Status& outcome) {
  const auto found = steps_.find(step);
  if (found == steps_.end()) {
    // Others may be ahead, and fail with a step that this rank has yet to begin: nobody tells
    // again.
    const bool is_to_come = !last_begun_ || step > *last_begun_;
    if (is_to_come && !outcome) failed_before_.emplace(step, outcome.error());
    return;
  }
  OwnStep& own = found->second;
  if (!outcome && !own.failure) own.failure = outcome.error();
  // What is not committed yet is told at commit(); what is being hashed is still needed.
  if ((!own.committed && !own.is_abandoned) || own.pieces_left > 0) return;
  const Status told = own.failure ? Status(tl::unexpect, *own.failure) : outcome;
  std::optional<CommittedStep> committed = std::move(own.committed);
  steps_.erase(found);
  // First what others count on, then whoever waits.
  on_resolved_(step, told);
  if (committed) tell(*committed, told);
  leave_if_done();
}

void Member::tell(CommittedStep& committed, const Status& outcome) {
  committed.receipt.durable = std::chrono::steady_clock::now() - committed.begun_at;
  committed.receipt.level = SafetyLevel::kDurable;
  if (outcome)
    committed.promise.set(committed.receipt);
  else
    committed.promise.set(failure(outcome.error()));
}

void Member::leave_if_done() {
  const auto is_withdrawn = [](const auto& one) { return one.second.is_withdrawn; };
  if (!is_leaving_ || has_left_ || !std::ranges::all_of(steps_, is_withdrawn)) return;
  has_left_ = true;
  context_.send(comm::Rank{Routes::coordinator()}, LetterKind::kLeave, {}, {});
}

void Member::lost(comm::Rank rank, const Error& why) {
  lost_.emplace(rank.number, why);
  if (!depends_on(rank.number)) return;
  if (context_.routes().next_of(context_.rank().number) == std::optional(rank.number)) {
    std::vector<std::uint64_t> chunks;
    for (const auto& [number, held] : held_)
      chunks.push_back(number);
    for (const std::uint64_t chunk : chunks)
      give_back(chunk);
  }
  const bool is_alone = lost_.contains(Routes::coordinator());
  std::vector<StepName> mine;
  for (const auto& [step, own] : steps_) {
    // All of it is written: it may be published already, which the coordinator alone knows.
    if (own.is_told && !is_alone)
      context_.report_failure(step, why);
    else
      mine.push_back(step);
  }
  for (const StepName& step : mine)
    abandon_for(step, why);
}

bool Member::depends_on(std::uint32_t rank) const {
  return context_.routes().depends_on(context_.rank().number, rank);
}

void Member::end(const Error& why) {
  to_hash_.clear();
  for (auto& [step, own] : steps_)
    own.pieces_left = 0;
  for (auto& [number, held] : std::exchange(held_, {}))
    held.packed.release();
  std::vector<StepName> mine;
  for (const auto& [step, own] : steps_)
    mine.push_back(step);
  for (const StepName& step : mine)
    fail(step, why);
  for (auto& [step, own] : std::exchange(steps_, {}))
    on_resolved_(step, Status(tl::unexpect, why));
}

}  // namespace forebay::write
