// SPDX-License-Identifier: Apache-2.0
// CommitCoordinator: collects the reports of all ranks about a step, then publishes or aborts it.
// It publishes a step, after all earlier ones, when every rank has committed it and every file of
// it is durable. It aborts a step if a rank reports a failure, or is lost or leaves before its part
// of the step is complete. It also aborts a step at the step timeout, if ranks define a field
// differently or set different values of an attribute, if an attribute describes a field that no
// rank has put, if blocks in two files overlap, or if publishing fails. All ranks receive the
// outcome, with the plans that are decided then.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "format/records.hpp"
#include "write/agent_context.hpp"
#include "write/commit_log.hpp"
#include "write/lease.hpp"
#include "write/message_codec.hpp"
#include "write/plan_decider.hpp"
#include "write/rank_metadata.hpp"

namespace forebay::write {

/// Belongs to the agent's thread of the coordinating rank.
class CommitCoordinator {
 public:
  /// `lease` must outlive the blocking tasks of this object. `plan_decider` is null if plans do not
  /// change.
  CommitCoordinator(AgentContext& context,
                    std::shared_ptr<CommitLog> commit_log,
                    const Lease& lease,
                    std::unique_ptr<PlanDecider> plan_decider = nullptr)
      : context_(context),
        commit_log_(std::move(commit_log)),
        lease_(lease),
        plan_decider_(std::move(plan_decider)) {}

  /// What a rank reports with its commit.
  struct RankCommit {
    RankSummary summary;
    std::chrono::nanoseconds elapsed_time{};  ///< from begin_step() to commit()
  };
  void handle_rank_committed(comm::Rank from, const StepId& step, const RankCommit& commit);
  void handle_step_failed(comm::Rank from, const StepId& step, const Error& why);
  /// A fragment of a file's StepCoverage, which has `total_bytes` in all. Fragments arrive in
  /// order, before the file is durable. kDamage if the fragment is not valid.
  Status handle_coverage(const StepId& step,
                         std::uint32_t file,
                         std::span<const std::byte> fragment,
                         std::uint64_t total_bytes);
  void handle_file_durable(comm::Rank from, const FileDurableMessage& message);
  /// Reply of a file owner: the metadata of these ranks has not arrived.
  void handle_missing_ranks(const StepId& step,
                            std::uint32_t file,
                            const std::vector<std::uint32_t>& ranks);
  void handle_leave(comm::Rank from);
  void handle_rank_lost(comm::Rank rank, const Error& why);

  void tick(TimePoint now);
  std::optional<TimePoint> next_deadline() const noexcept;

 private:
  struct FieldOrigin {
    format::FieldDefinition field;
    std::uint32_t rank = 0;  ///< the first rank that reported the field
  };
  struct AttributeOrigin {
    std::uint64_t hash = 0;
    std::uint32_t rank = 0;  ///< the first rank that reported the attribute
  };
  struct PendingStep {
    TimePoint deadline;
    std::optional<TimePoint> begun_at;  ///< on this rank; set when it commits
    std::uint64_t bytes = 0;            ///< put by all ranks; set when it is published
    std::set<std::uint32_t> committed_ranks;
    std::map<std::string, FieldOrigin> fields;
    std::map<format::AttributeKey, AttributeOrigin> attributes;
    std::map<std::uint32_t, ReassemblyBuffer> coverage;  ///< by file, if there are several
    std::map<std::uint32_t, FileDurableMessage> durable_files;
    /// By file, as reported by the owners.
    std::map<std::uint32_t, std::vector<std::uint32_t>> missing_ranks;
    bool has_requested_missing = false;  ///< from file owners
    bool is_publishing = false;
  };

  PendingStep* find_or_create(const StepId& step);
  Status add_fields(const StepId& step,
                    PendingStep& pending,
                    std::span<const format::FieldDefinition> fields,
                    comm::Rank from) const;
  Status add_attributes(const StepId& step,
                        PendingStep& pending,
                        std::span<const AttributeHash> attributes,
                        comm::Rank from) const;
  Status check_described_fields(const StepId& step, const PendingStep& pending) const;
  void publish_next();
  void publish(const StepId& step, PendingStep& pending);
  void resolve(const StepId& step, StepOutcome outcome, const Status& status);
  StepOutcome outcome_of_failed_publish() const;
  Status publish_error(const Status& status) const;
  void prune();
  void release_file(const format::DataFileName& name);
  void abort_step(const StepId& step, const Error& why);
  void finish_if_all_left();
  bool has_all_commits(const PendingStep& pending) const;
  bool is_complete(const StepId& step, const PendingStep& pending) const;
  bool can_complete_without(std::uint32_t rank,
                            const StepId& step,
                            const PendingStep& pending) const;
  std::optional<TimePoint> deadline_of(const StepId& step, const PendingStep& pending) const;
  void request_missing_ranks(const StepId& step, PendingStep& pending);
  std::vector<FileNumber> late_files(const StepId& step, const PendingStep& pending) const;
  std::string describe_missing(const StepId& step, const PendingStep& pending) const;
  std::string describe_late_files(const StepId& step, const PendingStep& pending) const;
  std::vector<PlanChange> decide_plans(const StepId& step, const Status& status);
  MeasuredOutcome measured_outcome(const Status& status) const;
  void broadcast(MessageKind kind, const AgentContext::Words& words, const comm::Bytes& payload);

  AgentContext& context_;
  const std::shared_ptr<CommitLog> commit_log_;
  const Lease& lease_;
  const std::unique_ptr<PlanDecider> plan_decider_;
  std::map<StepId, PendingStep> steps_;
  std::set<StepId> unpublished_;  ///< resolved, but not as published (failed or in doubt)
  std::optional<StepId> newest_published_;
  TimePoint waited_until_;  ///< outcome of the newest step that was the oldest one then
  std::map<std::uint32_t, Error> lost_ranks_;
  std::set<std::uint32_t> left_ranks_;
  bool has_ended_ = false;
};

}  // namespace forebay::write
