// SPDX-License-Identifier: Apache-2.0
// Allocates space, grants the baton, and writes the index that ends a step.
#include "write/file_owner.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assert.hpp"
#include "base/wall_clock.hpp"
#include "format/index_builder.hpp"
#include "write/aligned_bytes.hpp"
#include "write/dense_rounds.hpp"
#include "write/step_index.hpp"

namespace forebay::write {

/// State of a step while its index is built and written, passed from thread to thread.
struct FileOwner::StepFinalization {
  std::shared_ptr<DataFile> file;
  std::uint64_t offset = 0;
  std::vector<RankMetadata> metadata;
  std::vector<RankNumber> ranks;  ///< of `metadata`
  format::IndexId index_id;
  format::StepMetadata facts;
  std::optional<format::IndexBuilder> builder;
  std::optional<comm::Bytes> coverage;  ///< if the step has several files
  AlignedBytes index;
  Status outcome;
};

FileOwner::FileOwner(AgentContext& context, const Setup& setup)
    : context_(context), setup_(setup), expected_bytes_(setup.expected_bytes) {}

/// Registers the step as a user of its group's file. False if the step is resolved, or cannot be
/// written.
bool FileOwner::register_step(const StepId& step) {
  // The file of a published step must not be created again.
  if (failed_steps_.contains(step) || (newest_published_ && step <= *newest_published_))
    return false;
  ensure_file(step.group);
  const auto found = groups_.find(step.group);
  if (found == groups_.end()) {
    report_step_mismatch(step, failed_step_of(step.group));
    return false;
  }
  GroupFile& group_file = found->second;
  // The creation ahead of need failed, for example for lack of space. There may be space now.
  if (group_file.steps.size() == group_file.resolved_steps.size() && group_file.failure) {
    group_file.failure.reset();
    create_file(step.group);
  }
  if (!group_file.steps.insert(step).second) return true;
  ensure_file(step.group + 1);
  if (group_file.failure) context_.report_failure(step, *group_file.failure);
  if (group_file.steps.size() <= context_.plan().tuning.steps_per_group) return true;
  report_step_mismatch(step, group_file.steps.begin()->step);
  return false;
}

/// The first failed step of the group, which must have one.
std::uint64_t FileOwner::failed_step_of(std::uint64_t group) const {
  return std::ranges::find(failed_steps_, group, &StepId::group)->step;
}

void FileOwner::report_step_mismatch(const StepId& step, std::uint64_t other_step) {
  context_.report_failure(
      step, context_.error(
                ErrorClass::kInvalidArgument, "write step " + std::to_string(step.step),
                "ranks have begun different steps: " + std::to_string(other_step) +
                    " was begun by another rank in its place; begin the same steps on all ranks"));
}

Status FileOwner::handle_allocate_request(comm::Rank writer,
                                          const StepId& step,
                                          std::uint64_t request,
                                          std::uint64_t bytes) {
  if (bytes > kRegionBytesMax)
    return failure(
        malformed_message(MessageKind::kAllocateRequest, "bytes", bytes, "no region is that long"));
  const AllocationRequest request_from_writer{writer, step, request, bytes};
  if (!register_step(step)) return {};
  if (context_.plan(step).tuning.transfer_mode != TransferMode::kBaton ||
      baton_holder_ == std::optional(writer)) {
    allocate(request_from_writer);
    return {};
  }
  baton_queue_.push_back(request_from_writer);
  grant_baton(std::chrono::steady_clock::now());
  return {};
}

void FileOwner::allocate(const AllocationRequest& request) {
  GroupFile& group_file = groups_.at(request.step.group);
  if (group_file.failure || failed_steps_.contains(request.step))
    return release_baton(request.writer);
  if (!group_file.file) return group_file.pending_requests.push_back(request);
  if (baton_holder_ == std::optional(request.writer)) renew_baton(request.writer);
  const std::uint64_t alignment = context_.plan(request.step).tuning.alignment_bytes;
  const std::uint64_t offset = format::round_up(group_file.end, alignment);
  if (offset > kRegionBytesMax || request.bytes > kRegionBytesMax - offset) {
    const Error full = malformed_message(MessageKind::kAllocateRequest, "bytes", request.bytes,
                                         "the file would be too long");
    return context_.report_failure(request.step, with_rank(full, request.writer.number));
  }
  group_file.end = offset + format::round_up(request.bytes, alignment);
  group_file.allocations.insert_or_assign(offset,
                                          Allocation{request.step, group_file.end - offset});
  context_.send(request.writer, MessageKind::kAllocateReply,
                message_words(request.step, request.number, offset), {});
}

Status FileOwner::handle_trim(std::uint64_t group,
                              const ByteRange& allocation,
                              std::uint64_t needed_bytes) {
  if (allocation.size > kRegionBytesMax || needed_bytes > allocation.size)
    return failure(malformed_message(
        MessageKind::kTrimAllocation, "bytes needed", needed_bytes,
        "must be within the " + std::to_string(allocation.size) + " bytes requested"));
  const auto found = groups_.find(group);
  if (found == groups_.end()) return {};
  const std::uint64_t alignment = context_.plans().plan(group)->tuning.alignment_bytes;
  GroupFile& group_file = found->second;
  const auto entry = group_file.allocations.find(allocation.offset);
  if (entry == group_file.allocations.end()) return {};  // of a resolved step
  if (entry->second.bytes != format::round_up(allocation.size, alignment))
    return failure(malformed_message(MessageKind::kTrimAllocation, "bytes requested",
                                     allocation.size, "must be the size of the allocation"));
  // Space before another allocation cannot be reused.
  if (group_file.end != allocation.offset + entry->second.bytes) return {};
  entry->second.bytes = format::round_up(needed_bytes, alignment);
  group_file.end = allocation.offset + entry->second.bytes;
  return {};
}

void FileOwner::release_baton(comm::Rank writer) {
  if (baton_holder_ != std::optional(writer)) return;
  baton_holder_.reset();
  grant_baton(std::chrono::steady_clock::now());
}

void FileOwner::renew_baton(comm::Rank writer) {
  if (baton_holder_ == std::optional(writer)) baton_since_ = std::chrono::steady_clock::now();
}

/// Grants the baton to the writer that has waited longest, and allocates space for all its
/// requests.
void FileOwner::grant_baton(TimePoint now) {
  if (baton_holder_ || baton_queue_.empty()) return;
  baton_holder_ = baton_queue_.front().writer;
  baton_since_ = now;
  std::vector<AllocationRequest> granted;
  const auto is_its = [this](const AllocationRequest& one) {
    return baton_holder_ == std::optional(one.writer);
  };
  std::ranges::copy_if(baton_queue_, std::back_inserter(granted), is_its);
  std::erase_if(baton_queue_, is_its);
  for (const AllocationRequest& request : granted)
    allocate(request);
}

void FileOwner::tick(TimePoint now) {
  if (!baton_holder_ || baton_queue_.empty() || now < baton_since_ + kBatonLease) return;
  baton_holder_.reset();
  grant_baton(now);
}

std::optional<TimePoint> FileOwner::next_deadline() const noexcept {
  if (!baton_holder_ || baton_queue_.empty()) return std::nullopt;
  return baton_since_ + kBatonLease;
}

Status FileOwner::handle_collective_ready(comm::Rank from,
                                          const StepId& step,
                                          std::vector<ByteRange> ranges) {
  if (context_.plan(step).tuning.transfer_mode != TransferMode::kCollective)
    return failure(malformed_message(MessageKind::kCollectiveReady, "step", step.step,
                                     "the transfer_mode of this plan is not collective"));
  for (const ByteRange& range : ranges)
    if (range.offset > kRegionBytesMax || range.size > kRegionBytesMax)
      return failure(malformed_message(MessageKind::kCollectiveReady, "range offset", range.offset,
                                       "no file is that long"));
  if (!register_step(step)) return {};
  StepProgress& progress = steps_[step];
  if (!progress.ranges.emplace(from.number, std::move(ranges)).second)
    return failure(
        malformed_message(MessageKind::kCollectiveReady, "step", step.step, "must be sent once"));
  start_collective(step, progress);
  return {};
}

void FileOwner::start_collective(const StepId& step, const StepProgress& progress) {
  const GroupFile& group_file = groups_.at(step.group);
  // In collective calls, the other ranks would wait for the lost one without limit.
  if (has_lost_rank(group_file)) return;
  if (progress.ranges.size() < group_file.ranks.size() || !group_file.file) return;
  std::vector<ByteRange> all;
  for (const auto& [rank, ranges] : progress.ranges)
    all.insert(all.end(), ranges.begin(), ranges.end());
  const CollectiveMethod method = choose_collective_method(group_file.file->access(), all);
  const comm::Bytes rounds = comm::list_to_bytes<ByteRange>(dense_rounds(std::move(all)));
  const auto words = message_words(step, static_cast<std::uint64_t>(method));
  for (const RankNumber rank : group_file.ranks)
    context_.send(comm::Rank{rank}, MessageKind::kCollectiveStart, words, rounds);
}

/// kDamage if a block ends beyond the allocated space.
Status FileOwner::check_rank_metadata(const RankMetadata& metadata, const StepId& step) const {
  if (metadata.step != step.step)
    return failure(malformed_message(MessageKind::kRankMetadata, "step", metadata.step,
                                     "must be that of the header"));
  const std::uint64_t end = groups_.at(step.group).end;
  for (const BlockRecord& block : metadata.blocks)
    if (block.offset > end || block.stored_bytes > end - block.offset)
      return failure(
          malformed_message(MessageKind::kRankMetadata, "block offset", block.offset,
                            "must begin a block that ends before " + std::to_string(end)));
  return {};
}

Status FileOwner::handle_rank_metadata(comm::Rank from,
                                       const StepId& step,
                                       std::span<const std::byte> bytes,
                                       std::uint64_t total_bytes) {
  if (!register_step(step)) return {};
  StepProgress& progress = steps_[step];
  if (progress.metadata_by_rank.contains(from.number))
    return failure(
        malformed_message(MessageKind::kRankMetadata, "step", step.step, "must be sent once"));
  ReassemblyBuffer& arriving = progress.fragments[from.number];
  if (Status added = arriving.add(MessageKind::kRankMetadata, bytes, total_bytes); !added)
    return added;
  if (!arriving.is_complete()) return {};
  auto metadata = rank_metadata_from_bytes(arriving.bytes);
  if (!metadata) return failure(metadata.error());
  if (Status checked = check_rank_metadata(*metadata, step); !checked) return checked;
  progress.metadata_by_rank.emplace(from.number, std::move(*metadata));
  progress.fragments.erase(from.number);
  if (progress.is_missing_requested) report_missing_ranks(step);
  finalize_step(step, progress);
  return {};
}

void FileOwner::report_missing_ranks(const StepId& step) {
  if (failed_steps_.contains(step)) return;
  StepProgress& progress = steps_[step];
  progress.is_missing_requested = true;
  const AggregationMap& aggregation = context_.aggregation(step);
  const FileNumber file = aggregation.file_of(context_.rank().number);
  std::vector<std::uint32_t> missing;
  for (const RankNumber rank : aggregation.ranks_of_file(file))
    if (!progress.metadata_by_rank.contains(rank) && missing.size() <= kRanksInErrorMax)
      missing.push_back(rank);
  context_.send(comm::Rank{AggregationMap::coordinator()}, MessageKind::kMissingRanksReply,
                message_words(step, file), comm::list_to_bytes<std::uint32_t>(missing));
}

/// Once the metadata of all ranks has arrived, builds the index on the thread for blocking tasks.
/// The agent does not wait for it.
void FileOwner::finalize_step(const StepId& step, StepProgress& progress) {
  GroupFile& group_file = groups_.at(step.group);
  if (progress.metadata_by_rank.size() < group_file.ranks.size() || progress.is_finalizing ||
      !group_file.file)
    return;
  progress.is_finalizing = true;
  auto finalization = std::make_shared<StepFinalization>();
  finalization->file = group_file.file;
  finalization->ranks = group_file.ranks;
  finalization->index_id = {setup_.dataset, step.step, step.group, group_file.number};
  for (auto& [rank, metadata] : progress.metadata_by_rank)
    finalization->metadata.push_back(std::move(metadata));
  finalization->facts = {.wall_ns = wall_clock_ns(),
                         .writers = context_.aggregation(step).writer_count(),
                         .files = context_.aggregation(step).file_count(),
                         .strategy = static_cast<std::uint16_t>(context_.plan(step).strategy)};
  context_.file_writer().run_blocking([this, step, finalization] {
    auto index = build_step_index(finalization->index_id, finalization->facts,
                                  finalization->metadata, finalization->ranks);
    if (!index) {
      finalization->outcome = failure(index.error());
    } else {
      finalization->builder.emplace(std::move(index->builder));
      if (finalization->facts.files > 1) finalization->coverage = to_bytes(index->coverage);
    }
    context_.post([this, step, finalization] { encode_index(step, finalization); });
  });
}

void FileOwner::encode_index(const StepId& step,
                             const std::shared_ptr<StepFinalization>& finalization) {
  if (!steps_.contains(step)) return;
  if (!finalization->outcome)
    return context_.report_failure(step,
                                   with_location(finalization->outcome.error(), context_.path()));
  const FileNumber file = groups_.at(step.group).number;
  if (const auto coverage = std::exchange(finalization->coverage, {}))
    context_.send_fragmented(comm::Rank{AggregationMap::coordinator()}, MessageKind::kCoverage,
                             message_words(step, file, coverage->size()), *coverage);
  GroupFile& group_file = groups_.at(step.group);
  finalization->offset = group_file.end;
  group_file.end += finalization->builder->encoded_bytes();
  group_file.allocations.insert_or_assign(finalization->offset,
                                          Allocation{step, group_file.end - finalization->offset});
  context_.file_writer().run_blocking([this, step, finalization] {
    auto encoded = finalization->builder->encode(finalization->offset);
    if (encoded)
      finalization->index = AlignedBytes(*encoded);
    else
      finalization->outcome = failure(encoded.error());
    context_.post([this, step, finalization] { write_index(step, finalization); });
  });
}

void FileOwner::write_index(const StepId& step,
                            const std::shared_ptr<StepFinalization>& finalization) {
  if (!steps_.contains(step)) return;
  if (!finalization->outcome)
    return context_.report_failure(step,
                                   with_location(finalization->outcome.error(), context_.path()));
  const auto done = [this, step, finalization](const Status& outcome) {
    context_.post([this, step, finalization, outcome] {
      if (!outcome) return context_.report_failure(step, outcome.error());
      if (steps_.contains(step)) sync_step(step, finalization);
    });
  };
  context_.file_writer().write(finalization->file, finalization->offset,
                               finalization->index.bytes(), done);
}

void FileOwner::sync_step(const StepId& step,
                          const std::shared_ptr<StepFinalization>& finalization) {
  GroupFile& group_file = groups_.at(step.group);
  const auto done = [this, step, finalization](const Status& outcome) {
    context_.post([this, step, finalization, outcome] {
      if (!outcome) return context_.report_failure(step, outcome.error());
      if (steps_.contains(step)) report_durable(step, *finalization);
    });
  };
  const bool is_last = ++group_file.durable_steps == context_.plan().tuning.steps_per_group;
  if (is_last)
    context_.file_writer().seal(finalization->file, group_file.end, done);
  else
    context_.file_writer().sync(finalization->file, done);
}

void FileOwner::report_durable(const StepId& step, const StepFinalization& finalization) {
  GroupFile& group_file = groups_.at(step.group);
  expected_bytes_ = std::max(expected_bytes_, group_file.end * finalization.facts.files);
  format::Reference index = format::IndexBuilder::reference_of(finalization.index.bytes());
  index.offset = finalization.offset;
  const FileDurableMessage message{.step = step,
                                   .file = group_file.number,
                                   .index = index,
                                   .raw_bytes = finalization.builder->raw_bytes(),
                                   .stored_bytes = finalization.builder->stored_bytes()};
  group_file.undecided.insert(step);
  context_.send(comm::Rank{AggregationMap::coordinator()}, MessageKind::kFileDurable,
                message_words(step), to_bytes(message));
}

void FileOwner::handle_step_outcome(const StepId& step, StepOutcome outcome, const Status& status) {
  steps_.erase(step);
  // Replies to these requests would need the file, which may be removed now.
  std::erase_if(baton_queue_, [&](const AllocationRequest& one) { return one.step == step; });
  if (status) newest_published_ = step;
  const auto group = groups_.find(step.group);
  if (!status) {
    failed_steps_.insert(step);
    if (status.error().kind() == ErrorClass::kNoSpace) context_.file_writer().remove_free_files();
  }
  if (group == groups_.end()) return;
  GroupFile& group_file = group->second;
  if (outcome != StepOutcome::kFailed) {
    group_file.may_have_published_steps = true;
    std::erase_if(group_file.allocations,
                  [&](const auto& entry) { return entry.second.step == step; });
  } else {
    punch_failed_steps(group_file);
  }
  group_file.undecided.erase(step);
  group_file.steps.insert(step);
  group_file.resolved_steps.insert(step);
  const bool is_full = group_file.steps.size() >= context_.plan().tuning.steps_per_group;
  if (is_full && group_file.resolved_steps.size() == group_file.steps.size())
    retire_group(step.group);
}

void FileOwner::handle_rank_lost(comm::Rank rank, const Error& why) {
  if (baton_holder_ == std::optional(rank)) release_baton(rank);
  lost_ranks_.insert(rank.number);
  for (const auto& [group, group_file] : groups_) {
    if (!std::ranges::binary_search(group_file.ranks, rank.number)) continue;
    for (const StepId& step : group_file.steps) {
      const auto progress = steps_.find(step);
      const bool has_metadata =
          progress != steps_.end() && progress->second.metadata_by_rank.contains(rank.number);
      const bool is_finalizing = progress != steps_.end() && progress->second.is_finalizing;
      if (!has_metadata && !is_finalizing) context_.report_failure(step, why);
    }
  }
}

bool FileOwner::has_lost_rank(const GroupFile& group_file) const {
  return std::ranges::any_of(group_file.ranks,
                             [this](RankNumber rank) { return lost_ranks_.contains(rank); });
}

}  // namespace forebay::write
