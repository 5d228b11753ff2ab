// SPDX-License-Identifier: Apache-2.0
// StepProducer: a rank's own part of each step. It offers the application's chunks to the next rank
// on the way to storage, and keeps their memory while it is needed. It sends the metadata to the
// file owner, and reports the outcome to the application.
#pragma once

#include <forebay/dataset_writer.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "write/agent_context.hpp"
#include "write/packed_chunk.hpp"
#include "write/promise.hpp"
#include "write/rank_metadata.hpp"

namespace forebay::write {

/// What the application passes at commit().
struct CommittedStep {
  RankMetadata record;
  Receipt receipt;  ///< without the values that only the outcome gives
  TimePoint begun_at;
  Promise<Receipt> promise;
};

/// Belongs to the agent's thread.
class StepProducer {
 public:
  /// `on_resolved` is called once for each step, with the outcome on which the application may
  /// rely.
  using OnResolved = std::function<void(const StepId&, const Status&)>;
  StepProducer(AgentContext& context, OnResolved on_resolved)
      : context_(context), on_resolved_(std::move(on_resolved)) {}

  // From the application.
  void begin(const StepId& step);
  void offer(PackedChunk packed);
  void commit(const StepId& step, CommittedStep committed);
  void abandon(const StepId& step, const Error& why);
  /// The step fails, and leave() does not wait for the application to commit or abort it, which it
  /// still may.
  void cancel_step(const StepId& step, const Error& why);
  void leave();

  // Messages of other ranks. kDamage if a message is not valid.
  Status handle_fetch_chunk(comm::Rank to, std::uint64_t chunk);
  Status handle_chunk_released(std::uint64_t chunk);
  Status handle_regions_written(const StepId& step, std::vector<std::uint64_t> places);
  void handle_step_outcome(const StepId& step, const Status& outcome);
  void handle_rank_lost(comm::Rank rank, const Error& why);

  /// Computes one checksum of a piece; false if there is none to compute.
  bool hash_next_piece();
  bool has_left() const noexcept { return has_left_; }
  bool has_pieces_to_hash() const noexcept { return !pieces_to_hash_.empty(); }
  /// True if the next of these pieces is the only reason that its memory is held.
  bool is_hashing_only_user() const;
  /// The end: every step that is not resolved gets `why`.
  void shut_down(const Error& why);

 private:
  struct HeldChunk {
    PackedChunk packed;
    bool is_in_use_by_peer = true;
    std::size_t pieces_left = 0;
    bool is_being_sent = false;
  };
  struct StepState {
    std::optional<CommittedStep> committed;
    bool is_abandoned = false;      ///< aborted by the application, which does not wait for it
    bool is_cancelled = false;      ///< the rank may leave before its outcome
    std::uint64_t pieces_left = 0;  ///< to hash
    std::vector<std::pair<std::uint64_t, std::uint64_t>> hashes;
    std::optional<std::vector<std::uint64_t>> region_offsets;
    bool is_metadata_sent = false;  ///< to the file owner
    std::optional<Error> failure;
  };
  struct PendingChecksum {
    StepId step;
    std::uint64_t chunk;
    PieceToHash piece;
  };

  void release_by_peer(std::uint64_t chunk);
  void release_if_unused(std::uint64_t chunk);
  void fail_and_report(const StepId& step, const Error& why);
  static void complete_commit(CommittedStep& committed, const Status& outcome);
  void send_metadata_if_complete(const StepId& step, StepState& own);
  void fail_step(const StepId& step, const Error& why);
  void leave_if_done();
  bool depends_on(std::uint32_t rank) const;

  AgentContext& context_;
  const OnResolved on_resolved_;
  std::map<StepId, StepState> steps_;
  std::optional<StepId> last_begun_;
  std::map<StepId, Error> failed_early_;  ///< steps that failed before this rank began them
  std::map<std::uint64_t, HeldChunk> held_;
  std::deque<PendingChecksum> pieces_to_hash_;
  std::uint64_t next_chunk_ = 0;
  std::map<std::uint32_t, Error> lost_ranks_;
  bool is_leaving_ = false;
  bool has_left_ = false;
};

}  // namespace forebay::write
