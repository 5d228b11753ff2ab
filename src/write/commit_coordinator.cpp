// SPDX-License-Identifier: Apache-2.0
// Collects the reports of ranks about steps, publishes complete steps, and aborts the others.
#include "write/commit_coordinator.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/wall_clock.hpp"
#include "comm/error_bytes.hpp"
#include "write/step_coverage.hpp"

namespace forebay::write {

namespace {

std::string format_ranks(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kRanksInErrorMax); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return numbers.size() > kRanksInErrorMax ? text + " and others" : text;
}

std::string step_operation(const StepId& step) { return "write step " + std::to_string(step.step); }

using CoverageByFile = std::map<std::uint32_t, ReassemblyBuffer>;

/// Fails if two files have the same part or element. Frees the coverage.
Status check_overlap_across_files(std::uint64_t step, CoverageByFile& coverage) {
  std::vector<StepCoverage> files;
  files.reserve(coverage.size());
  for (auto& [file, fragments] : coverage) {
    auto of_file = coverage_from_bytes(std::exchange(fragments.bytes, {}));
    if (!of_file) return failure(of_file.error());
    files.push_back(std::move(*of_file));
  }
  return check_no_overlap(step, merge_coverage(std::move(files)));
}

}  // namespace

/// Null if the step is resolved. Every rank commits its steps in order, so no message about a step
/// before a published one can follow.
CommitCoordinator::PendingStep* CommitCoordinator::find_or_create(const StepId& step) {
  if (unpublished_.contains(step) || (newest_published_ && step <= *newest_published_))
    return nullptr;
  const auto [found, is_new] = steps_.try_emplace(step);
  if (is_new)
    found->second.deadline = std::chrono::steady_clock::now() + context_.plan().step_timeout;
  return &found->second;
}

void CommitCoordinator::handle_rank_committed(comm::Rank from,
                                              const StepId& step,
                                              const RankCommit& commit) {
  PendingStep* const pending = find_or_create(step);
  if (pending == nullptr) return;
  pending->committed_ranks.insert(from.number);
  if (from == context_.rank())
    pending->begun_at = std::chrono::steady_clock::now() - commit.elapsed_time;
  Status checked = add_fields(step, *pending, commit.summary.fields, from);
  if (checked) checked = add_attributes(step, *pending, commit.summary.attributes, from);
  if (checked && has_all_commits(*pending)) checked = check_described_fields(step, *pending);
  if (!checked) return abort_step(step, checked.error());
  for (const auto& [rank, why] : lost_ranks_)
    if (!can_complete_without(rank, step, *pending)) return abort_step(step, why);
  for (const std::uint32_t rank : left_ranks_) {
    if (pending->committed_ranks.contains(rank)) continue;
    const Error why = context_.error(ErrorClass::kClosed, step_operation(step),
                                     "the rank has closed the dataset before this step");
    return abort_step(step, with_rank(why, rank));
  }
  publish_next();
}

/// Fails if another rank has defined a field differently.
Status CommitCoordinator::add_fields(const StepId& step,
                                     PendingStep& pending,
                                     std::span<const format::FieldDefinition> fields,
                                     comm::Rank from) const {
  for (const format::FieldDefinition& field : fields) {
    const auto known =
        pending.fields.try_emplace(field.name, FieldOrigin{field, from.number}).first;
    if (known->second.field == field) continue;
    const std::string cause = "field '" + field.name + "' is " + description_of(field) +
                              " here, and " + description_of(known->second.field) + " on rank " +
                              std::to_string(known->second.rank);
    const Error why = context_.error(ErrorClass::kInvalidArgument, step_operation(step), cause);
    return failure(with_rank(why, from.number));
  }
  return {};
}

/// Fails if another rank has set an attribute to another value.
Status CommitCoordinator::add_attributes(const StepId& step,
                                         PendingStep& pending,
                                         std::span<const AttributeHash> attributes,
                                         comm::Rank from) const {
  for (const AttributeHash& attribute : attributes) {
    const AttributeOrigin own{attribute.hash, from.number};
    const auto known = pending.attributes.try_emplace(attribute.key, own).first;
    if (known->second.hash == attribute.hash) continue;
    const std::string cause = to_string(attribute.key) + " has another value here than on rank " +
                              std::to_string(known->second.rank) +
                              "; set it on one rank, or to the same value on all ranks";
    const Error why = context_.error(ErrorClass::kInvalidArgument, step_operation(step), cause);
    return failure(with_rank(why, from.number));
  }
  return {};
}

/// Fails if an attribute describes a field that no rank has put; all ranks must have committed.
Status CommitCoordinator::check_described_fields(const StepId& step,
                                                 const PendingStep& pending) const {
  for (const auto& [key, origin] : pending.attributes) {
    if (key.scope != format::AttributeScope::kField || pending.fields.contains(key.field)) continue;
    const Error why =
        context_.error(ErrorClass::kInvalidArgument, step_operation(step),
                       to_string(key) + " has no field: no rank has put the field in this step");
    return failure(with_rank(why, origin.rank));
  }
  return {};
}

void CommitCoordinator::handle_step_failed(comm::Rank from, const StepId& step, const Error& why) {
  if (find_or_create(step) == nullptr) return;
  const Error known = with_rank(why, from.number);
  if (why.kind() != ErrorClass::kNotFound) return abort_step(step, known);
  // Another holder that presumed this program dead may have removed the file. Then the Error of the
  // lease is the cause to report.
  context_.file_writer().run_blocking([this, step, known] {
    const Status lease_status = lease_.check();
    context_.post(
        [this, step, why = lease_status ? known : lease_status.error()] { abort_step(step, why); });
  });
}

Status CommitCoordinator::handle_coverage(const StepId& step,
                                          std::uint32_t file,
                                          std::span<const std::byte> fragment,
                                          std::uint64_t total_bytes) {
  PendingStep* const pending = find_or_create(step);
  if (pending == nullptr) return {};
  if (pending->durable_files.contains(file))
    return failure(
        malformed_message(MessageKind::kCoverage, "file", file, "must not be durable already"));
  return pending->coverage[file].add(MessageKind::kCoverage, fragment, total_bytes);
}

void CommitCoordinator::handle_file_durable(comm::Rank /*from*/,
                                            const FileDurableMessage& message) {
  PendingStep* const pending = find_or_create(message.step);
  if (pending == nullptr) return;
  pending->durable_files.emplace(message.file, message);
  publish_next();
}

bool CommitCoordinator::has_all_commits(const PendingStep& pending) const {
  return pending.committed_ranks.size() == context_.compute_rank_count();
}

bool CommitCoordinator::is_complete(const StepId& step, const PendingStep& pending) const {
  return has_all_commits(pending) &&
         pending.durable_files.size() == context_.aggregation(step).file_count();
}

/// Publishes the oldest step if it is complete. An incomplete step delays later ones until its
/// deadline.
void CommitCoordinator::publish_next() {
  if (steps_.empty()) return;
  auto& [step, pending] = *steps_.begin();
  if (pending.is_publishing || !is_complete(step, pending)) return;
  pending.is_publishing = true;
  publish(step, pending);
}

void CommitCoordinator::publish(const StepId& step, PendingStep& pending) {
  format::StepEntry entry{.step = step.step, .group = step.group, .wall_ns = wall_clock_ns()};
  entry.writers = context_.aggregation(step).writer_count();
  entry.strategy = static_cast<std::uint16_t>(context_.plan(step).strategy);
  for (const auto& [file, message] : pending.durable_files) {
    entry.files.push_back({file, message.index});
    entry.raw_bytes += message.raw_bytes;
    entry.stored_bytes += message.stored_bytes;
  }
  pending.bytes = entry.raw_bytes;
  const auto finish = [this, step](StepOutcome outcome, const Status& status) {
    context_.post([this, step, outcome, status] {
      resolve(step, outcome, status);
      publish_next();
    });
  };
  const auto coverage = std::make_shared<CoverageByFile>(std::move(pending.coverage));
  const auto publish_it = [this, entry, coverage, finish] {
    if (const Status status = check_overlap_across_files(entry.step, *coverage); !status)
      return finish(StepOutcome::kFailed, failure(with_location(status.error(), context_.path())));
    // If this process was paused for long, another holder may have presumed it dead, and publishes.
    if (const Status lease_status = lease_.check(); !lease_status)
      return finish(StepOutcome::kFailed, lease_status);
    const Status published = commit_log_->publish(entry);
    if (!published) return finish(outcome_of_failed_publish(), publish_error(published));
    finish(StepOutcome::kPublished, published);
    prune();
  };
  // One sync of the directory makes the names of the new files of all ranks durable.
  context_.file_writer().sync_directory([this, finish, publish_it](const Status& status) {
    if (status)
      context_.file_writer().run_blocking(publish_it);
    else
      finish(StepOutcome::kFailed, status);
  });
}

/// Called on the thread for blocking tasks, as is publish_error().
StepOutcome CommitCoordinator::outcome_of_failed_publish() const {
  return commit_log_->is_in_doubt() ? StepOutcome::kInDoubt : StepOutcome::kFailed;
}

/// If another holder has the dataset now, the Error of the lease is more precise.
Status CommitCoordinator::publish_error(const Status& status) const {
  const Status lease_status = lease_.check();
  return commit_log_->is_replaced() && !lease_status ? lease_status : status;
}

/// Called on the thread for blocking tasks, once the new step is durable. Drops the steps that
/// exceed retained_steps, and releases their files. Retries a failure with the next step.
void CommitCoordinator::prune() {
  const std::uint32_t keep = context_.plan().retained_steps;
  const std::vector<format::StepEntry> steps = commit_log_->steps();
  if (keep == 0 || steps.size() <= keep) return;
  const auto first_kept = steps.end() - keep;
  if (const Status dropped = commit_log_->drop_before(first_kept->step); !dropped) return;
  for (auto step = steps.begin(); step != first_kept; ++step) {
    if (step->group == first_kept->group) continue;
    for (const format::FileEntry& file : step->files)
      context_.post(
          [this, name = format::DataFileName{step->group, file.file}] { release_file(name); });
  }
}

/// Lets a rank that owns a file by the newest plan recycle the file, which another rank may have
/// created. Removes a file that must not be reused, or that this plan has no use for.
void CommitCoordinator::release_file(const format::DataFileName& name) {
  const AggregationMap& aggregation = context_.plans().newest_aggregation();
  // Writes of a failed step may still be in flight to the file, so it must not be reused.
  const auto is_in_it = [&](const StepId& step) { return step.group == name.group; };
  // A former holder that was presumed dead may still have its files open.
  const bool is_formers = name.group < context_.plans().first_group();
  if (is_formers || name.file >= aggregation.file_count() ||
      std::ranges::any_of(unpublished_, is_in_it))
    return context_.file_writer().remove(name, [](const Status& /*done*/) {});
  const comm::Rank owner{aggregation.owner_of(name.file)};
  context_.send(owner, MessageKind::kRecycleFile, {name.group, name.file}, {});
}

void CommitCoordinator::abort_step(const StepId& step, const Error& why) {
  const auto found = steps_.find(step);
  // A step that is being published is durable in all files, so a failure reported now concerns
  // later steps.
  if (found == steps_.end() || found->second.is_publishing) return;
  resolve(step, StepOutcome::kFailed, Status(tl::unexpect, why));
  publish_next();
}

void CommitCoordinator::resolve(const StepId& step, StepOutcome outcome, const Status& status) {
  StepOutcomeMessage message;
  if (plan_decider_) message.changes = decide_plans(step, status);
  steps_.erase(step);
  if (status) {
    newest_published_ = step;
  } else {
    unpublished_.insert(step);
    message.failure = status.error();
  }
  broadcast(
      MessageKind::kStepOutcome,
      message_words(step, static_cast<std::uint64_t>(outcome), context_.plans().decided_end()),
      to_bytes(message));
}

std::vector<PlanChange> CommitCoordinator::decide_plans(const StepId& step, const Status& status) {
  const PendingStep& pending = steps_.at(step);
  const TimePoint now = std::chrono::steady_clock::now();
  StepMeasurement measurement{.outcome = measured_outcome(status)};
  if (status) measurement.bytes = pending.bytes;
  if (pending.begun_at) {
    const auto own_time = now - std::max(*pending.begun_at, waited_until_);
    // With k steps in flight that are written one after the other, a step waits for k others. If
    // more of its time is missing, it was written at the same time as the one before.
    const bool is_measured =
        own_time * (context_.plan().steps_in_flight + 2) >= now - *pending.begun_at;
    if (is_measured) measurement.durable_time = own_time;
  }
  // A later step may fail first: this one does not wait for it.
  if (steps_.begin()->first == step) waited_until_ = now;
  return plan_decider_->handle_resolved(step, measurement);
}

MeasuredOutcome CommitCoordinator::measured_outcome(const Status& status) const {
  if (status) return MeasuredOutcome::kPublished;
  const ErrorClass kind = status.error().kind();
  const bool is_abandoned = kind == ErrorClass::kCancelled || kind == ErrorClass::kClosed ||
                            kind == ErrorClass::kInvalidArgument || !lost_ranks_.empty();
  return is_abandoned ? MeasuredOutcome::kAbandoned : MeasuredOutcome::kFailed;
}

void CommitCoordinator::broadcast(MessageKind kind,
                                  const AgentContext::Words& words,
                                  const comm::Bytes& payload) {
  for (std::uint32_t rank = 0; rank < context_.rank_count(); ++rank)
    if (!lost_ranks_.contains(rank)) context_.send(comm::Rank{rank}, kind, words, payload);
}

void CommitCoordinator::handle_rank_lost(comm::Rank rank, const Error& why) {
  const bool has_left = left_ranks_.contains(rank.number);
  if (!lost_ranks_.emplace(rank.number, why).second || has_left) return finish_if_all_left();
  broadcast(MessageKind::kRankLost, {rank.number}, comm::to_bytes(why));
  std::vector<StepId> missing;
  for (const auto& [step, pending] : steps_)
    if (!can_complete_without(rank.number, step, pending)) missing.push_back(step);
  for (const StepId& step : missing)
    abort_step(step, why);
  finish_if_all_left();
}

/// True if a step can complete without `rank`: it has committed the step, and its files are
/// durable. If the rank had bytes of other ranks, these ranks report the failure.
bool CommitCoordinator::can_complete_without(std::uint32_t rank,
                                             const StepId& step,
                                             const PendingStep& pending) const {
  const AggregationMap& aggregation = context_.aggregation(step);
  if (rank < aggregation.compute_rank_count() && !pending.committed_ranks.contains(rank))
    return false;
  return std::ranges::none_of(late_files(step, pending),
                              [&](FileNumber file) { return aggregation.owner_of(file) == rank; });
}

/// The files of a step that are not durable.
std::vector<FileNumber> CommitCoordinator::late_files(const StepId& step,
                                                      const PendingStep& pending) const {
  std::vector<FileNumber> late;
  for (FileNumber file = 0; file < context_.aggregation(step).file_count(); ++file)
    if (!pending.durable_files.contains(file)) late.push_back(file);
  return late;
}

void CommitCoordinator::handle_leave(comm::Rank from) {
  left_ranks_.insert(from.number);
  std::vector<StepId> missing;
  for (const auto& [step, pending] : steps_)
    if (!pending.committed_ranks.contains(from.number)) missing.push_back(step);
  for (const StepId& step : missing) {
    const Error why = context_.error(ErrorClass::kClosed, step_operation(step),
                                     "the rank has closed the dataset before this step");
    abort_step(step, with_rank(why, from.number));
  }
  finish_if_all_left();
}

void CommitCoordinator::finish_if_all_left() {
  if (has_ended_ || !steps_.empty()) return;
  for (std::uint32_t rank = 0; rank < context_.compute_rank_count(); ++rank)
    if (!left_ranks_.contains(rank) && !lost_ranks_.contains(rank)) return;
  has_ended_ = true;
  broadcast(MessageKind::kAllLeft, {}, {});
}

std::string CommitCoordinator::describe_missing(const StepId& step,
                                                const PendingStep& pending) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < context_.compute_rank_count(); ++rank)
    if (!pending.committed_ranks.contains(rank)) ranks.push_back(rank);
  if (!ranks.empty()) return "ranks that have not committed it: " + format_ranks(ranks);
  for (const FileNumber file : late_files(step, pending))
    ranks.push_back(context_.aggregation(step).owner_of(file));
  return "files of ranks " + format_ranks(ranks) + " are not durable yet" +
         describe_late_files(step, pending);
}

/// Why files are not durable, as far as their owners have replied.
std::string CommitCoordinator::describe_late_files(const StepId& step,
                                                   const PendingStep& pending) const {
  std::set<std::uint32_t> late;
  bool have_all_replied = true;
  for (const FileNumber file : late_files(step, pending)) {
    const auto reply = pending.missing_ranks.find(file);
    have_all_replied = have_all_replied && reply != pending.missing_ranks.end();
    if (reply != pending.missing_ranks.end())
      late.insert(reply->second.begin(), reply->second.end());
  }
  if (!late.empty())
    return "; bytes of ranks " + format_ranks({late.begin(), late.end()}) +
           " are not written and hashed yet";
  return have_all_replied ? "; all bytes are written, but the index or its sync is late" : "";
}

void CommitCoordinator::handle_missing_ranks(const StepId& step,
                                             std::uint32_t file,
                                             const std::vector<std::uint32_t>& ranks) {
  const auto found = steps_.find(step);
  if (found != steps_.end()) found->second.missing_ranks[file] = ranks;
}

/// Called before the deadline, so that the replies arrive in time for the Error.
void CommitCoordinator::request_missing_ranks(const StepId& step, PendingStep& pending) {
  pending.has_requested_missing = true;
  for (const FileNumber file : late_files(step, pending))
    context_.send(comm::Rank{context_.aggregation(step).owner_of(file)},
                  MessageKind::kMissingRanksRequest, message_words(step), {});
}

void CommitCoordinator::tick(TimePoint now) {
  std::vector<StepId> late;
  for (auto& [step, pending] : steps_) {
    const auto due = deadline_of(step, pending);
    if (!due || now < *due) continue;
    if (pending.deadline <= now)
      late.push_back(step);
    else
      request_missing_ranks(step, pending);
  }
  for (const StepId& step : late) {
    const std::string cause =
        "not complete " + std::to_string(context_.plan().step_timeout.count()) +
        " ms after the first rank committed; " + describe_missing(step, steps_.at(step));
    abort_step(step, context_.error(ErrorClass::kLimit, step_operation(step), cause));
  }
}

/// The time of the next action for a pending step: its deadline. If only file owners are late,
/// first the request to them, at three quarters of the step timeout.
std::optional<TimePoint> CommitCoordinator::deadline_of(const StepId& step,
                                                        const PendingStep& pending) const {
  if (pending.is_publishing || is_complete(step, pending)) return std::nullopt;
  if (has_all_commits(pending) && !pending.has_requested_missing)
    return pending.deadline - context_.plan().step_timeout / 4;
  return pending.deadline;
}

std::optional<TimePoint> CommitCoordinator::next_deadline() const noexcept {
  std::optional<TimePoint> first;
  for (const auto& [step, pending] : steps_) {
    const auto due = deadline_of(step, pending);
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

}  // namespace forebay::write
