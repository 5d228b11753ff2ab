// SPDX-License-Identifier: Apache-2.0
// The files of a file owner: from their creation ahead of need to their end.
#include <utility>

#include "write/file_owner.hpp"

namespace forebay::write {

bool FileOwner::is_owner(std::uint64_t group) const {
  return context_.plans().aggregation(group).is_owner(context_.rank().number);
}

void FileOwner::start() {
  ensure_file(setup_.first_group);
  if (context_.plan().tuning.steps_per_group == 1 && context_.plan().steps_in_flight > 1)
    ensure_file(setup_.first_group + 1);
}

void FileOwner::handle_plans_decided(std::uint64_t first_group) {
  const std::uint64_t end = context_.plans().decided_end();
  for (std::uint64_t group = first_group; group < end; ++group)
    ensure_file(group);
  if (is_owner(first_group - 1) && !is_owner(end)) context_.file_writer().remove_free_files();
}

/// Creates the file of a group that this rank owns, unless that was done or all steps of the group
/// have failed. These may have failed on other ranks before this rank receives the first message
/// about them.
void FileOwner::ensure_file(std::uint64_t group) {
  if (groups_.contains(group) || !context_.plans().is_decided(group) || !is_owner(group)) return;
  const AggregationMap& aggregation = context_.plans().aggregation(group);
  GroupFile group_file;
  group_file.number = aggregation.file_of(context_.rank().number);
  group_file.ranks = aggregation.ranks_of_file(group_file.number);
  for (const StepId& step : failed_steps_)
    if (step.group == group) group_file.resolved_steps.insert(step);
  if (group_file.resolved_steps.size() >= context_.plan().tuning.steps_per_group) return;
  group_file.steps = group_file.resolved_steps;
  groups_.emplace(group, std::move(group_file));
  create_file(group);
}

void FileOwner::create_file(std::uint64_t group) {
  const auto on_created = [this, group](Result<std::shared_ptr<DataFile>> file) {
    context_.post([this, group, file = std::move(file)] { handle_file_created(group, file); });
  };
  const WritePlan& plan = *context_.plans().plan(group);
  context_.file_writer().create({group, groups_.at(group).number}, expected_bytes_ / plan.files,
                                plan.tuning.access, on_created);
}

void FileOwner::handle_file_created(std::uint64_t group,
                                    const Result<std::shared_ptr<DataFile>>& file) {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return;
  GroupFile& group_file = found->second;
  if (file)
    group_file.file = *file;
  else
    group_file.failure = file.error();
  if (group_file.file && setup_.on_file_created) setup_.on_file_created(group, group_file.file);
  for (const AllocationRequest& request : std::exchange(group_file.pending_requests, {}))
    allocate(request);
  const auto steps = group_file.steps;
  for (const StepId& step : steps) {
    if (group_file.failure) context_.report_failure(step, *group_file.failure);
    const auto progress = steps_.find(step);
    if (!group_file.file || progress == steps_.end()) continue;
    start_collective(step, progress->second);
    finalize_step(step, progress->second);
  }
}

/// Returns the space of failed steps, which later steps may need. Writes in flight for failed steps
/// fill holes again, so each call punches all of them.
void FileOwner::punch_failed_steps(const GroupFile& group_file) {
  if (!group_file.file || context_.plan().tuning.steps_per_group == 1) return;
  std::vector<ByteRange> failed;
  for (const auto& [offset, allocation] : group_file.allocations) {
    if (!failed_steps_.contains(allocation.step)) continue;
    if (!failed.empty() && failed.back().end() == offset)
      failed.back().size += allocation.bytes;
    else
      failed.push_back({offset, allocation.bytes});
  }
  if (!failed.empty()) context_.file_writer().punch_hole(group_file.file, std::move(failed));
}

/// Ends the file of a group. Removes it if no step of it can be published; ranks may still write to
/// it. Truncates it to the end of its steps if it stays and was not sealed.
void FileOwner::retire_group(std::uint64_t group) {
  const GroupFile group_file = std::move(groups_.extract(group).mapped());
  if (!group_file.may_have_published_steps && group_file.undecided.empty())
    return context_.file_writer().remove({group, group_file.number}, [](const Status& /*done*/) {});
  punch_failed_steps(group_file);
  if (group_file.file && group_file.durable_steps < context_.plan().tuning.steps_per_group)
    context_.file_writer().truncate(group_file.file, group_file.end);
}

/// A lost coordinator may have published steps that are durable here, so their files stay. If it
/// has not, the next opening removes these files.
void FileOwner::shut_down() {
  steps_.clear();  // also discards steps that are being finalized
  baton_queue_.clear();
  while (!groups_.empty())
    retire_group(groups_.begin()->first);
}

}  // namespace forebay::write
