// SPDX-License-Identifier: Apache-2.0
// Checks received messages, and dispatches them to roles.
#include <chrono>
#include <limits>
#include <utility>

#include "comm/error_bytes.hpp"
#include "write/dataset_agent.hpp"
#include "write/message_codec.hpp"

namespace forebay::write {

namespace {

/// The longest time that fits is 292 years.
std::chrono::nanoseconds time_of(std::uint64_t count_ns) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max() / 2;
  return std::chrono::nanoseconds(std::min(count_ns, kMax));
}

}  // namespace

Status DatasetAgent::check(comm::Rank from, const comm::LinkHeader& header) const {
  // Any rank may depend on any other by some plan, and one of the two may not have it yet.
  if (plans_.may_change() && header.kind == static_cast<std::uint32_t>(MessageKind::kRankLost))
    return check_message_header(header);
  const auto group = group_of(header);
  return check_message(header, from.number, rank_.number,
                       group ? plans_.aggregation(*group) : plans_.newest_aggregation());
}

/// True for a message that a rank sends unasked about a step of which this rank has no plan yet.
bool DatasetAgent::is_early(const comm::LinkHeader& header) const {
  switch (static_cast<MessageKind>(header.kind)) {
    case MessageKind::kOfferChunk:
    case MessageKind::kRegionCount:
    case MessageKind::kAllocateRequest:
    case MessageKind::kCollectiveReady:
    case MessageKind::kRankMetadata:
      return !plans_.is_decided(header.words[1]);
    default:
      return false;
  }
}

/// Keeps a message until its plan is decided. If the coordinator is lost, drops it instead, and
/// releases the memory that it offers.
void DatasetAgent::keep_early_message(comm::Rank from,
                                      const comm::LinkHeader& header,
                                      comm::Bytes payload) {
  if (!has_lost_coordinator_) return early_messages_.push_back({from, header, std::move(payload)});
  if (header.kind != static_cast<std::uint32_t>(MessageKind::kOfferChunk)) return;
  if (const auto message = offer_chunk_from_bytes(payload))
    send(from, MessageKind::kReleaseChunk, message_words(message->chunk.step, message->number), {});
}

void DatasetAgent::dispatch_early_messages() {
  for (EarlyMessage& message : std::exchange(early_messages_, {})) {
    if (is_early(message.header)) {
      early_messages_.push_back(std::move(message));
      continue;
    }
    Status done = check(message.from, message.header);
    if (done) done = dispatch(message.from, message.header, message.payload);
    if (!done) transport_->close(message.from, with_rank(done.error(), message.from.number));
  }
}

Result<std::span<std::byte>> DatasetAgent::payload_buffer(comm::Rank from,
                                                          const comm::LinkHeader& header) {
  Status checked = is_early(header) ? check_message_header(header) : check(from, header);
  if (!checked) return failure(checked.error());
  if (header.kind == static_cast<std::uint32_t>(MessageKind::kChunkData))
    return aggregator_.receive_buffer(from, header.words[2], header.payload_bytes);
  comm::Bytes& bytes = payloads_[from.number];
  bytes.resize(header.payload_bytes);
  return std::span(bytes);
}

Status DatasetAgent::handle_message(comm::Rank from,
                                    const comm::LinkHeader& header,
                                    std::span<const std::byte> payload) {
  const bool is_kept = is_early(header);
  Status checked = is_kept ? check_message_header(header) : check(from, header);
  if (!checked) return checked;
  if (header.kind == static_cast<std::uint32_t>(MessageKind::kChunkData)) {
    if (!payload.empty()) aggregator_.handle_chunk_data(from, header.words[2]);
    return {};
  }
  // Handlers may send messages, but no further message is received before they return.
  comm::Bytes kept = payload.empty() ? comm::Bytes() : std::move(payloads_[from.number]);
  if (!is_kept) return dispatch(from, header, kept);
  keep_early_message(from, header, std::move(kept));
  return {};
}

Status DatasetAgent::dispatch(comm::Rank from,
                              const comm::LinkHeader& header,
                              std::span<const std::byte> payload) {
  switch (static_cast<MessageKind>(header.kind)) {
    case MessageKind::kFetchChunk:
    case MessageKind::kReleaseChunk:
    case MessageKind::kOfferChunk:
    case MessageKind::kRegionCount:
    case MessageKind::kCollectiveStart:
    case MessageKind::kAllocateReply:
      return dispatch_to_aggregator(from, header, payload);
    case MessageKind::kAllocateRequest:
    case MessageKind::kTrimAllocation:
    case MessageKind::kReleaseBaton:
    case MessageKind::kRenewBaton:
    case MessageKind::kCollectiveReady:
    case MessageKind::kRankMetadata:
    case MessageKind::kMissingRanksRequest:
      return dispatch_to_file_owner(from, header, payload);
    case MessageKind::kRankCommitted:
    case MessageKind::kStepFailed:
    case MessageKind::kCoverage:
    case MessageKind::kFileDurable:
    case MessageKind::kMissingRanksReply:
    case MessageKind::kLeave:
      return dispatch_to_coordinator(from, header, payload);
    case MessageKind::kRegionsWritten: {
      auto regions = comm::list_from_bytes<std::uint64_t>("regions written", payload);
      if (!regions) return failure(regions.error());
      return producer_ ? producer_->handle_regions_written(step_id_of(header), std::move(*regions))
                       : Status();
    }
    case MessageKind::kStepOutcome:
      return handle_step_outcome(header, payload);
    case MessageKind::kRankLost:
      return handle_rank_lost(from, header, payload);
    case MessageKind::kRecycleFile:
      return handle_recycle_file(header);
    case MessageKind::kAllLeft:
      has_all_left_ = true;
      return {};
    case MessageKind::kHello:
    case MessageKind::kChunkData:
      return {};
  }
  return {};
}

Status DatasetAgent::handle_rank_lost(comm::Rank from,
                                      const comm::LinkHeader& header,
                                      std::span<const std::byte> payload) {
  const auto why = comm::error_from_bytes(payload);
  if (!why) return failure(why.error());
  const std::uint64_t number = header.words[0];
  const bool is_coordinator = number == AggregationMap::coordinator();
  // The coordinator reports any rank; other ranks report the coordinator.
  if (number >= rank_count_ || (!is_coordinator && from.number != AggregationMap::coordinator()))
    return failure(malformed_message(MessageKind::kRankLost, "rank", number,
                                     "cannot be reported lost by this sender"));
  const comm::Rank lost_rank{static_cast<std::uint32_t>(number)};
  if (is_coordinator)
    transport_->close(lost_rank, *why);
  else if (file_owner_)
    file_owner_->handle_rank_lost(lost_rank, *why);
  return {};
}

Status DatasetAgent::handle_recycle_file(const comm::LinkHeader& header) {
  const auto file = word_as_u32(header, 1);
  if (!file) return failure(file.error());
  const AggregationMap& aggregation = plans_.newest_aggregation();
  const bool is_own =
      *file < aggregation.file_count() && aggregation.owner_of(*file) == rank_.number;
  if (!is_own && !plans_.may_change())
    return failure(
        malformed_message(MessageKind::kRecycleFile, "file", *file, "must be a file of this rank"));
  if (header.words[0] < setup_.first_group)
    return failure(malformed_message(MessageKind::kRecycleFile, "group", header.words[0],
                                     "must be one of this opening"));
  const format::DataFileName name{header.words[0], *file};
  const auto done = [](const Status& /*done*/) {};
  // The coordinating rank may have decided another plan since it sent this to itself.
  if (is_own)
    setup_.file_writer->recycle(name, done);
  else
    setup_.file_writer->remove(name, done);
  return {};
}

Status DatasetAgent::dispatch_to_aggregator(comm::Rank from,
                                            const comm::LinkHeader& header,
                                            std::span<const std::byte> payload) {
  const auto& words = header.words;
  const bool is_relayed = (words[2] & kRelayFlag) != 0;
  switch (static_cast<MessageKind>(header.kind)) {
    case MessageKind::kFetchChunk:
      if (is_relayed) return aggregator_.handle_fetch_chunk(from, words[2]);
      return producer_ ? producer_->handle_fetch_chunk(from, words[2]) : Status();
    case MessageKind::kReleaseChunk:
      if (is_relayed) return aggregator_.handle_release_chunk(words[2]);
      return producer_ ? producer_->handle_release_chunk(words[2]) : Status();
    case MessageKind::kOfferChunk: {
      const auto message = offer_chunk_from_bytes(payload);
      if (!message) return failure(message.error());
      if (message->chunk.step != step_id_of(header))
        return failure(malformed_message(MessageKind::kOfferChunk, "step", message->chunk.step.step,
                                         "must be that of the header"));
      return aggregator_.handle_offer_chunk(from, *message);
    }
    case MessageKind::kRegionCount: {
      const auto regions = word_as_u32(header, 2);
      if (!regions) return failure(regions.error());
      return aggregator_.handle_region_count(step_id_of(header), from.number, *regions);
    }
    case MessageKind::kCollectiveStart:
      return handle_collective_start(header, payload);
    default:
      return aggregator_.handle_allocate_reply(words[2], words[3]);
  }
}

Status DatasetAgent::handle_collective_start(const comm::LinkHeader& header,
                                             std::span<const std::byte> payload) {
  const std::uint64_t method = header.words[2];
  if (method > static_cast<std::uint64_t>(CollectiveMethod::kAggregated))
    return failure(
        malformed_message(MessageKind::kCollectiveStart, "method", method, "must be 0 to 2"));
  auto rounds = comm::list_from_bytes<ByteRange>("collective start", payload);
  if (!rounds) return failure(rounds.error());
  return aggregator_.handle_collective_start(
      step_id_of(header), static_cast<CollectiveMethod>(method), std::move(*rounds));
}

Status DatasetAgent::dispatch_to_file_owner(comm::Rank from,
                                            const comm::LinkHeader& header,
                                            std::span<const std::byte> payload) {
  if (!file_owner_) return {};
  const auto& words = header.words;
  switch (static_cast<MessageKind>(header.kind)) {
    case MessageKind::kAllocateRequest:
      return file_owner_->handle_allocate_request(from, step_id_of(header), words[2], words[3]);
    case MessageKind::kTrimAllocation:
      return file_owner_->handle_trim(words[1], {words[0], words[2]}, words[3]);
    case MessageKind::kReleaseBaton:
      file_owner_->release_baton(from);
      return {};
    case MessageKind::kRenewBaton:
      file_owner_->renew_baton(from);
      return {};
    case MessageKind::kCollectiveReady: {
      auto ranges = comm::list_from_bytes<ByteRange>("collective ready", payload);
      if (!ranges) return failure(ranges.error());
      return file_owner_->handle_collective_ready(from, step_id_of(header), std::move(*ranges));
    }
    case MessageKind::kMissingRanksRequest:
      file_owner_->report_missing_ranks(step_id_of(header));
      return {};
    default:
      return file_owner_->handle_rank_metadata(from, step_id_of(header), payload, words[2]);
  }
}

Status DatasetAgent::dispatch_to_coordinator(comm::Rank from,
                                             const comm::LinkHeader& header,
                                             std::span<const std::byte> payload) {
  if (!coordinator_) return {};
  switch (static_cast<MessageKind>(header.kind)) {
    case MessageKind::kRankCommitted: {
      auto summary = rank_summary_from_bytes(payload);
      if (!summary) return failure(summary.error());
      coordinator_->handle_rank_committed(from, step_id_of(header),
                                          {std::move(*summary), time_of(header.words[2])});
      return {};
    }
    case MessageKind::kStepFailed: {
      const auto why = comm::error_from_bytes(payload);
      if (!why) return failure(why.error());
      coordinator_->handle_step_failed(from, step_id_of(header), *why);
      return {};
    }
    case MessageKind::kCoverage: {
      const std::uint64_t file = header.words[2];
      if (Status checked = check_file(from, header, file); !checked) return checked;
      return coordinator_->handle_coverage(step_id_of(header), static_cast<std::uint32_t>(file),
                                           payload, header.words[3]);
    }
    case MessageKind::kFileDurable:
      return handle_file_durable(from, header, payload);
    case MessageKind::kMissingRanksReply:
      return handle_missing_ranks(from, header, payload);
    default:
      coordinator_->handle_leave(from);
      return {};
  }
}

/// kDamage unless the sender owns the file of the message's step.
Status DatasetAgent::check_file(comm::Rank from,
                                const comm::LinkHeader& header,
                                std::uint64_t file) const {
  const AggregationMap& aggregation = plans_.aggregation(step_id_of(header).group);
  const bool is_its = file < aggregation.file_count() &&
                      aggregation.owner_of(static_cast<FileNumber>(file)) == from.number;
  if (is_its) return {};
  return failure(malformed_message(static_cast<MessageKind>(header.kind), "file", file,
                                   "must be a file of the sender"));
}

Status DatasetAgent::handle_file_durable(comm::Rank from,
                                         const comm::LinkHeader& header,
                                         std::span<const std::byte> payload) {
  const auto message = file_durable_from_bytes(payload);
  if (!message) return failure(message.error());
  if (message->step != step_id_of(header))
    return failure(malformed_message(MessageKind::kFileDurable, "step", message->step.step,
                                     "must be that of the header"));
  if (Status checked = check_file(from, header, message->file); !checked) return checked;
  coordinator_->handle_file_durable(from, *message);
  return {};
}

Status DatasetAgent::handle_missing_ranks(comm::Rank from,
                                          const comm::LinkHeader& header,
                                          std::span<const std::byte> payload) {
  if (Status checked = check_file(from, header, header.words[2]); !checked) return checked;
  const auto ranks = comm::list_from_bytes<std::uint32_t>("missing ranks reply", payload);
  if (!ranks) return failure(ranks.error());
  coordinator_->handle_missing_ranks(step_id_of(header),
                                     static_cast<std::uint32_t>(header.words[2]), *ranks);
  return {};
}

Status DatasetAgent::handle_step_outcome(const comm::LinkHeader& header,
                                         std::span<const std::byte> payload) {
  const StepId step = step_id_of(header);
  if (header.words[2] > static_cast<std::uint64_t>(StepOutcome::kInDoubt))
    return failure(
        malformed_message(MessageKind::kStepOutcome, "outcome", header.words[2], "must be 0 to 2"));
  const auto outcome = static_cast<StepOutcome>(header.words[2]);
  const auto message = step_outcome_from_bytes(payload);
  if (!message) return failure(message.error());
  if (message->failure.has_value() == (outcome == StepOutcome::kPublished))
    return failure(malformed_message(MessageKind::kStepOutcome, "outcome", header.words[2],
                                     "must be 1 without an Error, else 0 or 2"));
  const Status status = message->failure ? Status(tl::unexpect, *message->failure) : Status();
  // First, so that the application can begin a step as soon as this one is resolved.
  if (Status changed = handle_plan_changes(message->changes, header.words[3]); !changed)
    return changed;
  aggregator_.handle_step_outcome(step, status);
  if (file_owner_) file_owner_->handle_step_outcome(step, outcome, status);
  if (producer_) producer_->handle_step_outcome(step, status);
  // All steps before a published step are resolved.
  if (status) plans_.release_before(step.group);
  return {};
}

/// On the coordinating rank, the schedule has the changes already.
Status DatasetAgent::handle_plan_changes(const std::vector<PlanChange>& changes,
                                         std::uint64_t decided_end) {
  if (!plans_.may_change()) return {};
  if (!coordinator_) {
    // All steps before this outcome are of decided groups.
    const std::uint64_t most = plans_.decided_end() + plans_.plan_at_opening().steps_in_flight;
    if (decided_end > most)
      return failure(malformed_message(MessageKind::kStepOutcome, "decided end", decided_end,
                                       "must be at most " + std::to_string(most)));
    for (const PlanChange& change : changes)
      if (Status added = plans_.add(change); !added) return added;
    plans_.decide_until(decided_end);
  }
  if (plans_.decided_end() == announced_end_) return {};
  if (file_owner_) file_owner_->handle_plans_decided(announced_end_);
  announced_end_ = plans_.decided_end();
  if (setup_.on_plans_decided) setup_.on_plans_decided(plans_, announced_end_);
  dispatch_early_messages();
  return {};
}

}  // namespace forebay::write
