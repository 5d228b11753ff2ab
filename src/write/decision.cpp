// SPDX-License-Identifier: Apache-2.0
#include "write/decision.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "base/clock.hpp"
#include "comm/message_bytes.hpp"
#include "format/load_commits.hpp"
#include "format/open_commits.hpp"
#include "format/repair.hpp"
#include "write/fence.hpp"
#include "write/garbage_collection.hpp"
#include "write/message_codec.hpp"
#include "write/plan_limits.hpp"

namespace forebay::write {

namespace {

constexpr mode_t kDirectoryMode = 0777;  ///< reduced by the umask

/// Called first, because the lease is in the directory. CommitLog makes the directory durable.
Status create_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) == 0) return {};
  const int error_number = errno;
  struct stat facts{};
  const bool exists = error_number == EEXIST && ::stat(path.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) return {};
  if (exists)
    return failure({.kind = ErrorClass::kExists,
                    .operation = "create a dataset",
                    .path = path,
                    .cause = "it is a file, and a dataset is a directory; choose another path"});
  return failure(system_error({.operation = "create a dataset", .path = path}, error_number));
}

/// Fails with kExists if there are steps and nothing may be appended. A dataset without steps is
/// what a failed opening leaves behind, and is no obstacle.
Status check_no_steps(const DecisionRequest& request, std::span<const format::StepEntry> steps) {
  if (request.existing == ExistingDataset::kAppend || steps.empty()) return {};
  return failure({.kind = ErrorClass::kExists,
                  .operation = "create a dataset",
                  .path = request.path,
                  .cause = "it has step " + std::to_string(steps.back().step) +
                           "; append to it, or choose another path"});
}

/// The same before the lease is taken, which changes the directory. Damage is reported later, as
/// for appending.
Status check_no_steps_before_lease(const DecisionRequest& request) {
  if (request.existing == ExistingDataset::kAppend) return {};
  const auto commits = format::open_commits(request.path);
  if (!commits) return {};
  const auto found = format::load_commits(**commits);
  return found ? check_no_steps(request, found->steps) : Status();
}

/// As fence_writers(). If a full disk has no space for the copy, first removes files that a killed
/// holder left behind.
Status fence_with_cleanup(const std::string& path) {
  Status fenced = fence_writers(path);
  if (fenced || fenced.error().kind() != ErrorClass::kNoSpace) return fenced;
  const auto commit_log = CommitLog::open(path);
  if (!commit_log) return failure(commit_log.error());
  if ((*commit_log)->can_collect_garbage())
    collect_garbage(path, (*commit_log)->steps(), std::numeric_limits<std::uint64_t>::max());
  return fence_writers(path);
}

/// The step of the damaged slot, as far as data files show it; no value if they do not.
std::optional<std::string> describe_lost_step(const format::RepairedStep& step) {
  if (step.outcome == format::RepairedStep::Outcome::kRecovered)
    return " is complete in its files, but a slot of commits is damaged and no longer names it; "
           "run `forebay repair` to recover it, or remove its files to discard it";
  if (step.outcome == format::RepairedStep::Outcome::kDropped)
    return " was dropped, but the slot of commits that recorded it is damaged; run `forebay "
           "repair`";
  return std::nullopt;
}

/// Fails if further writing could lose a step. It would overwrite the damaged slot, the last trace
/// of its step, and remove the files of that step. Or it would list steps again that the slot had
/// dropped. There are two causes: a crash during the commit of a step that was never acknowledged,
/// or a later bit error in the slot of an acknowledged step. The files do not show which, so the
/// user must decide.
Status check_damages(const CommitLog& commit_log, const std::string& path, LogSink* log) {
  if (commit_log.damages().empty()) return {};
  for (const Error& damage : commit_log.damages())
    if (log != nullptr) log->write(LogLevel::kWarning, path + ": " + damage.message());
  const auto plan = format::plan_repair(path);
  if (!plan) return failure(plan.error());
  for (const format::RepairedStep& step : plan->report.steps)
    if (const auto description = describe_lost_step(step))
      return failure({.kind = ErrorClass::kDamage,
                      .operation = "open for writing",
                      .path = path,
                      .cause = "step " + std::to_string(step.step) + *description});
  return {};
}

/// With a deadline, because the other ranks wait while the first one waits for a former holder.
LeaseOptions lease_options(LogSink* log, LeaseClock& clock) {
  LeaseOptions options;
  options.deadline = clock.now() + kStallMax;
  options.clock = &clock;
  if (log != nullptr) options.log = log;
  return options;
}

/// Adds the newest step to `found`. Returns the facts with its size, whatever number of ranks wrote
/// it, unless the size of steps is known or there are no steps.
WriteFacts with_newest_step(const WriteFacts& facts,
                            DatasetState& found,
                            const CommitLog& commit_log) {
  WriteFacts known = facts;
  if (commit_log.steps().empty()) return known;
  const format::StepEntry& newest = commit_log.steps().back();
  found.newest_step = newest.step;
  found.has_steps = true;
  found.newest_bytes = newest.stored_bytes;
  const std::uint64_t ranks = facts.rank_layout.compute_rank_count();
  if (facts.step_bytes.empty() && newest.raw_bytes > 0)
    known.step_bytes = {(newest.raw_bytes + ranks - 1) / ranks};
  return known;
}

/// Raises memory_bytes to the minimum of a plan that may change.
void raise_memory(WritePlan& plan) {
  const std::uint64_t least = memory_for_changes(plan);
  if (plan.memory_bytes >= least) return;
  plan.reason += "; memory_bytes is raised from " + std::to_string(plan.memory_bytes) + " to " +
                 std::to_string(least) + ", the minimum where plans may change";
  plan.memory_bytes = least;
}

}  // namespace

Result<Decision> decide(const DecisionRequest& request, LogSink* log, LeaseClock& clock) {
  const std::string& path = request.path;
  const WriteFacts& facts = request.facts;
  auto plan = plan_with_profile(request.tuning, facts, request.requested);
  if (!plan) return failure(with_location(plan.error(), path));
  Decision decision{.path = path, .plan = std::move(*plan), .plan_changes = request.plan_changes};
  if (const Status absent = check_no_steps_before_lease(request); !absent)
    return failure(absent.error());
  if (const Status made = create_directory(path); !made) return failure(made.error());
  auto lease = Lease::acquire(path, current_process(), lease_options(log, clock));
  if (!lease) return failure(lease.error());
  decision.lease = std::move(*lease);
  if (const Status fenced = fence_with_cleanup(path); !fenced) return failure(fenced.error());
  auto commit_log = CommitLog::open(path);
  if (!commit_log) return failure(commit_log.error());
  // Another program may have written steps before the lease was taken.
  if (const Status absent = check_no_steps(request, (*commit_log)->steps()); !absent)
    return failure(absent.error());
  const Status sound = check_damages(**commit_log, path, log);
  if (!sound) return failure(sound.error());
  decision.commit_log = std::move(*commit_log);
  DatasetState& found = decision.state;
  found.lease_nonce = decision.lease->holder().nonce;
  const auto first_group = reserve_groups(path, decision.commit_log->steps());
  if (!first_group) return failure(first_group.error());
  // A program that took the lease over before may have reserved the same groups.
  if (const Status lease_status = decision.lease->check(); !lease_status)
    return failure(lease_status.error());
  found.first_group = *first_group;
  if (decision.commit_log->can_collect_garbage())
    collect_garbage(path, decision.commit_log->steps(), found.first_group);
  found.dataset = decision.commit_log->dataset();
  const WriteFacts known = with_newest_step(facts, found, *decision.commit_log);
  if (known.step_bytes != facts.step_bytes) {
    plan = plan_with_profile(request.tuning, known, request.requested);
    if (!plan) return failure(with_location(plan.error(), path));
    decision.plan = std::move(*plan);
  }
  if (request.plan_changes == PlanChanges::kBetweenGroups) raise_memory(decision.plan);
  decision.tuner = make_tuner(
      request.tuning, {.facts = known, .requested = request.requested, .opened = decision.plan});
  return decision;
}

comm::Bytes to_bytes(const Decision& decision) {
  const DatasetState& found = decision.state;
  comm::MessageWriter out;
  out.list(std::span<const std::byte>(found.dataset));
  out.number(found.first_group);
  out.number(found.newest_step);
  out.number(found.newest_bytes);
  out.flag(found.has_steps);
  out.number(found.lease_nonce);
  out.text(decision.path);
  out.enumerator(decision.plan_changes);
  out.bytes(to_bytes(decision.plan));
  return std::move(out).take();
}

Result<Decision> decision_from_bytes(std::span<const std::byte> bytes) {
  comm::MessageReader in("decision", bytes);
  Decision decision;
  DatasetState& found = decision.state;
  const auto dataset = in.bytes("dataset");
  if (dataset.size() != found.dataset.size())
    in.reject("dataset", dataset.size(), "must have 16 bytes");
  if (in.is_valid()) std::ranges::copy(dataset, found.dataset.begin());
  found.first_group = in.number<std::uint64_t>("first group");
  found.newest_step = in.number<std::uint64_t>("newest step");
  found.newest_bytes = in.number<std::uint64_t>("newest bytes");
  found.has_steps = in.flag("has steps");
  found.lease_nonce = in.number<std::uint64_t>("lease");
  decision.path = in.text("path");
  decision.plan_changes = in.enumerator("plan changes", PlanChanges::kBetweenGroups);
  const auto plan_bytes = in.bytes("plan");
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  auto plan = write_plan_from_bytes(plan_bytes);
  if (!plan) return failure(with_location(plan.error(), decision.path));
  decision.plan = std::move(*plan);
  return decision;
}

}  // namespace forebay::write
