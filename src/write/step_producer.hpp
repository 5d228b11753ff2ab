// SPDX-License-Identifier: Apache-2.0
// StepProducer: the part of each step that this rank has put. It offers the application's chunks to
// the next rank on the way to storage. It holds their memory until the bytes are written or sent to
// another rank, and hashed. It sends the metadata to the file owner, and reports the outcome to the
// application.
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

/// The data that commit() passes to the agent.
struct CommittedStep {
  RankMetadata record;
  Receipt receipt;  ///< except `durable_time`
  TimePoint begun_at;
  Promise<Receipt> promise;
};

/// Belongs to the agent's thread.
class StepProducer {
 public:
  /// `on_resolved` is called once for each step, with its final outcome.
  using OnResolved = std::function<void(const StepId&, const Status&)>;
  StepProducer(AgentContext& context, OnResolved on_resolved)
      : context_(context), on_resolved_(std::move(on_resolved)) {}

  // From the application.
  void begin(const StepId& step);
  void offer(PackedChunk packed);
  void commit(const StepId& step, CommittedStep committed);
  void abort_step(const StepId& step, const Error& why);
  /// Fails the step. leave() then does not wait for the application to commit or abort it. The
  /// application may still do so.
  void cancel_step(const StepId& step, const Error& why);
  void leave();

  // Messages of other ranks. kDamage if a message is not valid.
  Status handle_fetch_chunk(comm::Rank to, std::uint64_t chunk_number);
  Status handle_release_chunk(std::uint64_t chunk_number);
  Status handle_regions_written(const StepId& step, std::vector<std::uint64_t> offsets);
  void handle_step_outcome(const StepId& step, const Status& outcome);
  void handle_rank_lost(comm::Rank rank, const Error& why);

  /// Computes the checksum of the next piece. Returns false if there is no piece.
  bool hash_next_piece();
  bool has_left() const noexcept { return has_left_; }
  bool has_pieces_to_hash() const noexcept { return !pieces_to_hash_.empty(); }
  /// True if the memory of the next piece is held only for its checksum.
  bool is_hashing_only_user() const;
  /// Ends this role: unresolved steps fail with `why`.
  void shut_down(const Error& why);

 private:
  struct HeldChunk {
    PackedChunk packed;
    bool is_in_use_downstream = true;  ///< by the Aggregator that has its offer, or by its write
    std::size_t pieces_left = 0;
    bool is_being_sent = false;
  };
  struct StepState {
    std::optional<CommittedStep> committed;
    bool is_aborted = false;        ///< aborted by the application; has no promise
    bool is_cancelled = false;      ///< the rank may leave before the outcome of the step
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

  void mark_unused_downstream(std::uint64_t chunk_number);
  void release_if_unused(std::uint64_t chunk_number);
  void fail_and_report(const StepId& step, const Error& why);
  static void complete_commit(CommittedStep& committed, const Status& outcome);
  void send_metadata_if_complete(const StepId& step, StepState& own);
  void fail_step(const StepId& step, const Error& why);
  void leave_if_done();
  bool depends_on(const StepId& step, std::uint32_t rank) const;

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
