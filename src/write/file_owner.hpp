// SPDX-License-Identifier: Apache-2.0
// FileOwner: the work of one rank for the data files that it owns. It creates files ahead of need,
// and allocates space as bytes arrive. It grants the baton to writers that share a file, one after
// the other. It ends each step in the file with an index.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "format/records.hpp"
#include "write/agent_context.hpp"
#include "write/message_codec.hpp"
#include "write/rank_metadata.hpp"

namespace forebay::write {

/// A holder of the baton that has written nothing for this time loses it if another writer waits.
/// It keeps the offsets that it received, and its writes in flight continue. So two writers may
/// then write the file.
inline constexpr std::chrono::milliseconds kBatonLease{2000};

/// Belongs to the agent's thread. For a rank that owns a file by some plan.
class FileOwner {
 public:
  struct Setup {
    format::DatasetId dataset;
    std::uint64_t first_group = 0;
    std::uint64_t expected_bytes = 0;  ///< of all files of the first step; 0: unknown
    /// Receives each file with its group, before any space in it is allocated.
    std::function<void(std::uint64_t, const std::shared_ptr<DataFile>&)> on_file_created = {};
  };
  FileOwner(AgentContext& context, const Setup& setup);

  /// Requests the first files.
  void start();
  /// Plans of more groups are decided: requests the files of these, from `first_group` on. Removes
  /// recycled files if this rank owns no file any more by the newest plan.
  void handle_plans_decided(std::uint64_t first_group);
  // Messages of other ranks. kDamage if a message is not valid.
  Status handle_allocate_request(comm::Rank writer,
                                 const StepId& step,
                                 std::uint64_t request,
                                 std::uint64_t bytes);
  /// Reduces an allocation to `needed_bytes`. `allocation.size` is the size that was requested.
  Status handle_trim(std::uint64_t group, const ByteRange& allocation, std::uint64_t needed_bytes);
  void release_baton(comm::Rank writer);
  /// The holder of the baton makes progress, so it keeps the baton.
  void renew_baton(comm::Rank writer);
  /// Transfer mode collective: the rank is ready to write `ranges` of the file. Sends the rounds to
  /// all ranks of the file once all are ready.
  Status handle_collective_ready(comm::Rank from,
                                 const StepId& step,
                                 std::vector<ByteRange> ranges);
  /// A fragment of a rank's metadata, which has `total_bytes` in all; fragments arrive in order.
  Status handle_rank_metadata(comm::Rank from,
                              const StepId& step,
                              std::span<const std::byte> bytes,
                              std::uint64_t total_bytes);
  /// Reports to the coordinator, now and after each change, the ranks whose metadata is missing.
  void report_missing_ranks(const StepId& step);
  void handle_step_outcome(const StepId& step, StepOutcome outcome, const Status& status);
  void handle_rank_lost(comm::Rank rank, const Error& why);
  /// Removes or truncates the files of unresolved steps. Keeps files that may have published steps.
  void shut_down();

  void tick(TimePoint now);
  std::optional<TimePoint> next_deadline() const noexcept;

 private:
  struct AllocationRequest {
    comm::Rank writer;
    StepId step;
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
  };
  /// Space that was allocated for a step.
  struct Allocation {
    StepId step;
    std::uint64_t bytes = 0;
  };
  /// The file of one group.
  struct GroupFile {
    FileNumber number = 0;
    std::vector<RankNumber> ranks;   ///< compute ranks whose bytes go to the file
    std::shared_ptr<DataFile> file;  ///< null while it is being created
    std::optional<Error> failure;
    std::uint64_t end = format::kPageBytes;  ///< offset of the next allocation, before alignment
    std::map<std::uint64_t, Allocation>
        allocations;  ///< by offset, of steps that are not published
    std::vector<AllocationRequest> pending_requests;  ///< until the file exists
    std::set<StepId> steps;
    std::set<StepId> resolved_steps;  ///< those of `steps` that are published or failed
    std::uint32_t durable_steps = 0;
    bool may_have_published_steps = false;  ///< published or in doubt: the file must stay
    std::set<StepId> undecided;             ///< durable, but kStepOutcome has not arrived yet
  };
  struct StepProgress {
    std::map<std::uint32_t, ReassemblyBuffer> fragments;
    std::map<std::uint32_t, RankMetadata> metadata_by_rank;
    std::map<std::uint32_t, std::vector<ByteRange>>
        ranges;  ///< of the ranks that are ready, by rank
    bool is_finalizing = false;
    bool is_missing_requested = false;  ///< the coordinator has requested the missing ranks
  };
  struct StepFinalization;

  bool is_owner(std::uint64_t group) const;
  bool has_lost_rank(const GroupFile& group_file) const;
  bool register_step(const StepId& step);
  std::uint64_t failed_step_of(std::uint64_t group) const;
  Status check_rank_metadata(const RankMetadata& metadata, const StepId& step) const;
  void report_step_mismatch(const StepId& step, std::uint64_t other_step);
  void start_collective(const StepId& step, const StepProgress& progress);
  void ensure_file(std::uint64_t group);
  void create_file(std::uint64_t group);
  void handle_file_created(std::uint64_t group, const Result<std::shared_ptr<DataFile>>& file);
  void allocate(const AllocationRequest& request);
  void punch_failed_steps(const GroupFile& group_file);
  void grant_baton(TimePoint now);
  void finalize_step(const StepId& step, StepProgress& progress);
  void encode_index(const StepId& step, const std::shared_ptr<StepFinalization>& finalization);
  void write_index(const StepId& step, const std::shared_ptr<StepFinalization>& finalization);
  void sync_step(const StepId& step, const std::shared_ptr<StepFinalization>& finalization);
  void report_durable(const StepId& step, const StepFinalization& finalization);
  void retire_group(std::uint64_t group);

  AgentContext& context_;
  const Setup setup_;
  std::map<std::uint64_t, GroupFile> groups_;
  std::map<StepId, StepProgress> steps_;
  std::set<StepId> failed_steps_;  ///< and steps in doubt
  std::optional<StepId> newest_published_;
  std::set<RankNumber> lost_ranks_;
  std::uint64_t expected_bytes_;  ///< of all files of a step
  // The baton:
  std::optional<comm::Rank> baton_holder_;
  TimePoint baton_since_;
  std::deque<AllocationRequest> baton_queue_;
};

}  // namespace forebay::write
