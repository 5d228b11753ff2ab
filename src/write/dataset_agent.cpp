// SPDX-License-Identifier: Apache-2.0
// The agent's loop, and the dispatch of messages to roles.
#include "write/dataset_agent.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <poll.h>

#include "base/service_thread.hpp"
#include "base/sleep_until_ready.hpp"
#include "comm/error_bytes.hpp"
#include "write/garbage_collection.hpp"
#include "write/message_codec.hpp"

namespace forebay::write {

void AgentContext::report_failure(const StepId& step, const Error& why) {
  send(comm::Rank{AggregationMap::coordinator()}, MessageKind::kStepFailed, message_words(step),
       comm::to_bytes(why));
}

void AgentContext::send_fragmented(comm::Rank to,
                                   MessageKind kind,
                                   const Words& words,
                                   std::span<const std::byte> payload) {
  do {
    const auto fragment = payload.first(std::min<std::size_t>(payload.size(), kFragmentBytesMax));
    payload = payload.subspan(fragment.size());
    send(to, kind, words, {fragment.begin(), fragment.end()});
  } while (!payload.empty());
}

Result<std::shared_ptr<DatasetAgent>> DatasetAgent::start(Setup setup) {
  auto wakeup = shm::Doorbell::create();
  if (!wakeup) return failure(wakeup.error());
  std::shared_ptr<DatasetAgent> agent(new DatasetAgent(std::move(setup), std::move(*wakeup)));
  auto thread = start_service_thread("fb-dataset", [raw = agent.get()] {
    // With normal scheduling, an agent that hashes would take the core of the application's thread
    // that woke it.
    if (raw->producer_) use_batch_scheduling();
    raw->run();
  });
  if (!thread) return failure(thread.error());
  agent->thread_ = std::move(*thread);
  return agent;
}

DatasetAgent::DatasetAgent(Setup setup, shm::Doorbell wakeup)
    : setup_(std::move(setup)),
      transport_(std::move(setup_.transport)),
      rank_(transport_->rank()),
      rank_count_(transport_->size()),
      tasks_(std::move(wakeup)),
      aggregation_(setup_.rank_layout, setup_.plan),
      aggregator_(*this, setup_.receive_staging) {
  const std::uint32_t me = rank_.number;
  if (me < aggregation_.compute_rank_count()) producer_.emplace(*this, setup_.on_resolved);
  const bool owns =
      aggregation_.is_writer(me) && aggregation_.owner_of(aggregation_.file_of(me)) == me;
  const std::uint64_t bytes_of_file = setup_.newest_bytes / aggregation_.file_count();
  const auto made = [this](std::uint64_t group, const std::shared_ptr<DataFile>& file) {
    aggregator_.set_file(group, file);
  };
  if (owns)
    file_owner_.emplace(*this,
                        FileOwner::Setup{setup_.dataset, setup_.first_group, bytes_of_file, made});
  if (setup_.commit_log)
    coordinator_.emplace(*this, setup_.commit_log, *setup_.lease, setup_.first_group);
}

DatasetAgent::~DatasetAgent() { stop(kDoNotBlock); }

bool DatasetAgent::is_same_node(comm::Rank other) const noexcept {
  return setup_.rank_layout.node_of(other.number) == setup_.rank_layout.node_of(rank().number);
}

bool DatasetAgent::post_to_producer(std::function<void(StepProducer&)> what,
                                    AgentTaskQueue::WakePolicy wake_policy) {
  return tasks_.add([this, what = std::move(what)] { what(*producer_); }, wake_policy);
}

void DatasetAgent::request_memory(const StepId& step) {
  post([this, step] { aggregator_.write_pending_independently(step); });
}

void DatasetAgent::post(std::function<void()> work) { tasks_.add(std::move(work)); }

void DatasetAgent::stop(TimePoint deadline) noexcept {
  {
    std::unique_lock lock(mutex_);
    if (thread_.joinable()) changed_.wait_until(lock, deadline, [this] { return has_ended_; });
    is_stopping_ = true;
  }
  tasks_.wake();
  if (thread_.joinable()) thread_.join();
}

void DatasetAgent::wait_until_ended() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return has_ended_; });
}

bool DatasetAgent::has_ended() const {
  const std::lock_guard lock(mutex_);
  return has_ended_;
}

void DatasetAgent::run() {
  if (file_owner_) file_owner_->start();
  send(comm::Rank{AggregationMap::coordinator()}, MessageKind::kHello, {}, {});
  while (!is_finished()) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) break;
    }
    const TimePoint now = std::chrono::steady_clock::now();
    if (file_owner_) file_owner_->tick(now);
    if (coordinator_) coordinator_->tick(now);
    const AgentTaskQueue::Wakeup wakeup = wait(now);
    for (const auto& work : tasks_.take_all(wakeup))
      work();
    transport_->poll(*this);
    if (producer_ && should_hash()) producer_->hash_next_piece();
    written_bytes_.store(aggregator_.written_bytes(), std::memory_order_relaxed);
  }
  shut_down();
}

bool DatasetAgent::is_finished() const noexcept {
  const bool is_free =
      has_all_left_ || (has_lost_coordinator_ && (!producer_ || producer_->has_left()));
  return is_free && transport_->queued_bytes() == 0;
}

/// Hashing and copying at the same time slow each other down. While storage or another rank uses
/// the next bytes, hashing them later delays nothing. Afterwards only hashing holds their memory.
bool DatasetAgent::should_hash() const noexcept {
  return !is_copying_.load(std::memory_order_relaxed) || producer_->is_hashing_only_user();
}

/// Sleeps until there is work.
AgentTaskQueue::Wakeup DatasetAgent::wait(TimePoint now) {
  std::array<pollfd, 2> entries{
      {{transport_->descriptor(), POLLIN, 0}, {tasks_.descriptor().get(), POLLIN, 0}}};
  std::optional<TimePoint> due = transport_->next_deadline();
  const auto consider = [&due](const std::optional<TimePoint>& other) {
    if (other && (!due || *other < *due)) due = other;
  };
  if (file_owner_) consider(file_owner_->next_deadline());
  if (coordinator_) consider(coordinator_->next_deadline());
  int wait_ms = -1;
  if (due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - now).count();
    wait_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  if (producer_ && producer_->has_pieces_to_hash())
    wait_ms = should_hash() ? 0 : AgentTaskQueue::kShortSleepMs;
  sleep_until_ready_ms(entries, tasks_.prepare_wait(wait_ms));
  return (entries[1].revents & POLLIN) != 0 ? AgentTaskQueue::Wakeup::kSignaled
                                            : AgentTaskQueue::Wakeup::kNotSignaled;
}

/// Ends all roles. Stops writes before StepProducer releases the memory that they read.
void DatasetAgent::shut_down() {
  if (file_owner_) file_owner_->shut_down();
  const Error why =
      error(ErrorClass::kClosed, "write a dataset", "it ended before this step was resolved");
  setup_.collective_io_thread.reset();
  setup_.file_writer->stop(why);
  for (const auto& work : tasks_.close())
    work();
  if (setup_.lease && setup_.commit_log->can_collect_garbage() && setup_.lease->check())
    collect_garbage(setup_.path, setup_.commit_log->steps(), setup_.first_group + kGroupsPerOpen);
  setup_.lease.reset();
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  if (producer_) producer_->shut_down(why);
  // Other ranks detect the end by their connections, even if the program keeps its DatasetWriter.
  transport_.reset();
  changed_.notify_all();
}

void DatasetAgent::send(comm::Rank to, MessageKind kind, const Words& words, comm::Bytes payload) {
  const comm::LinkHeader header{.kind = static_cast<std::uint32_t>(kind), .words = words};
  // A rank that cannot be reached is lost; handle_peer_lost() reports it.
  if (!transport_) return;
  if (payload.empty())
    std::ignore = transport_->send(to, header);
  else
    std::ignore = transport_->send(to, header, std::move(payload));
}

void DatasetAgent::send_in_place(comm::Rank to,
                                 MessageKind kind,
                                 const Words& words,
                                 std::span<const std::byte> payload,
                                 comm::Link::OnSent on_sent) {
  const comm::LinkHeader header{.kind = static_cast<std::uint32_t>(kind), .words = words};
  if (transport_) std::ignore = transport_->send(to, header, payload, std::move(on_sent));
}

Status DatasetAgent::check(comm::Rank from, const comm::LinkHeader& header) const {
  return check_message(header, from.number, rank_.number, aggregation_);
}

Result<std::span<std::byte>> DatasetAgent::payload_buffer(comm::Rank from,
                                                          const comm::LinkHeader& header) {
  if (Status checked = check(from, header); !checked) return failure(checked.error());
  if (header.kind == static_cast<std::uint32_t>(MessageKind::kChunkData))
    return aggregator_.receive_buffer(from, header.words[0], header.payload_bytes);
  comm::Bytes& bytes = payloads_[from.number];
  bytes.resize(header.payload_bytes);
  return std::span(bytes);
}

Status DatasetAgent::handle_message(comm::Rank from,
                                    const comm::LinkHeader& header,
                                    std::span<const std::byte> payload) {
  if (Status checked = check(from, header); !checked) return checked;
  if (header.kind == static_cast<std::uint32_t>(MessageKind::kChunkData)) {
    if (!payload.empty()) aggregator_.handle_chunk_data(from, header.words[0]);
    return {};
  }
  // Handlers may send messages, but no further message is received before they return.
  const comm::Bytes kept = payload.empty() ? comm::Bytes() : std::move(payloads_[from.number]);
  return dispatch(from, header, kept);
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
  if (*file >= aggregation_.file_count() || aggregation_.owner_of(*file) != rank_.number)
    return failure(
        malformed_message(MessageKind::kRecycleFile, "file", *file, "must be a file of this rank"));
  if (header.words[0] < setup_.first_group)
    return failure(malformed_message(MessageKind::kRecycleFile, "group", header.words[0],
                                     "must be one of this opening"));
  setup_.file_writer->recycle({header.words[0], *file}, [](const Status& /*done*/) {});
  return {};
}

Status DatasetAgent::dispatch_to_aggregator(comm::Rank from,
                                            const comm::LinkHeader& header,
                                            std::span<const std::byte> payload) {
  const auto& words = header.words;
  const bool is_relayed = (words[0] & kRelayFlag) != 0;
  switch (static_cast<MessageKind>(header.kind)) {
    case MessageKind::kFetchChunk:
      if (is_relayed) return aggregator_.handle_fetch_chunk(from, words[0]);
      return producer_ ? producer_->handle_fetch_chunk(from, words[0]) : Status();
    case MessageKind::kReleaseChunk:
      if (is_relayed) return aggregator_.handle_release_chunk(words[0]);
      return producer_ ? producer_->handle_release_chunk(words[0]) : Status();
    case MessageKind::kOfferChunk: {
      const auto message = offer_chunk_from_bytes(payload);
      return message ? aggregator_.handle_offer_chunk(from, *message) : failure(message.error());
    }
    case MessageKind::kRegionCount: {
      const auto regions = word_as_u32(header, 2);
      if (!regions) return failure(regions.error());
      return aggregator_.handle_region_count(step_id_of(header), from.number, *regions);
    }
    case MessageKind::kCollectiveStart:
      return handle_collective_start(header, payload);
    default:
      return aggregator_.handle_allocate_reply(words[0], words[1]);
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
      return file_owner_->handle_trim(words[0], {words[1], words[2]}, words[3]);
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
      const auto fields = fields_from_bytes(payload);
      if (!fields) return failure(fields.error());
      coordinator_->handle_rank_committed(from, step_id_of(header), *fields);
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
      if (Status checked = check_file(MessageKind::kCoverage, from, file); !checked) return checked;
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

/// kDamage unless the sender owns the file.
Status DatasetAgent::check_file(MessageKind kind, comm::Rank from, std::uint64_t file) const {
  const bool is_its = file < aggregation_.file_count() &&
                      aggregation_.owner_of(static_cast<FileNumber>(file)) == from.number;
  if (is_its) return {};
  return failure(malformed_message(kind, "file", file, "must be a file of the sender"));
}

Status DatasetAgent::handle_file_durable(comm::Rank from,
                                         const comm::LinkHeader& header,
                                         std::span<const std::byte> payload) {
  const auto message = file_durable_from_bytes(payload);
  if (!message) return failure(message.error());
  if (message->step != step_id_of(header))
    return failure(malformed_message(MessageKind::kFileDurable, "step", message->step.step,
                                     "must be that of the header"));
  if (Status checked = check_file(MessageKind::kFileDurable, from, message->file); !checked)
    return checked;
  coordinator_->handle_file_durable(from, *message);
  return {};
}

Status DatasetAgent::handle_missing_ranks(comm::Rank from,
                                          const comm::LinkHeader& header,
                                          std::span<const std::byte> payload) {
  if (Status checked = check_file(MessageKind::kMissingRanksReply, from, header.words[2]); !checked)
    return checked;
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
  Status status;
  if (outcome != StepOutcome::kPublished) {
    const auto why = comm::error_from_bytes(payload);
    if (!why) return failure(why.error());
    status = failure(*why);
  }
  aggregator_.handle_step_outcome(step, status);
  if (file_owner_) file_owner_->handle_step_outcome(step, outcome, status);
  if (producer_) producer_->handle_step_outcome(step, status);
  return {};
}

void DatasetAgent::handle_peer_lost(comm::Rank peer, const Error& why) {
  payloads_.erase(peer.number);
  if (has_all_left_) return;
  if (peer.number == AggregationMap::coordinator()) handle_coordinator_lost(why);
  aggregator_.handle_rank_lost(peer, why);
  if (file_owner_) file_owner_->handle_rank_lost(peer, why);
  if (producer_) producer_->handle_rank_lost(peer, why);
  if (coordinator_) coordinator_->handle_rank_lost(peer, why);
}

/// Reports the loss to the ranks that depend on this one. Afterwards this rank leaves with its
/// application, without waiting for others. A rank that had not yet detected the loss would report
/// this rank as the cause.
void DatasetAgent::handle_coordinator_lost(const Error& why) {
  has_lost_coordinator_ = true;
  const std::uint32_t me = rank().number;
  for (std::uint32_t other = 0; other < aggregation_.compute_rank_count(); ++other)
    if (other != me && other != AggregationMap::coordinator() && aggregation_.depends_on(other, me))
      send({other}, MessageKind::kRankLost, {AggregationMap::coordinator()}, comm::to_bytes(why));
}

}  // namespace forebay::write
