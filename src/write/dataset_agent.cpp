// SPDX-License-Identifier: Apache-2.0
// The agent's loop, and what it sends. dataset_agent_messages.cpp has what it receives.
#include "write/dataset_agent.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
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
      plans_({.rank_layout = setup_.rank_layout,
              .plan = setup_.plan,
              .first_group = setup_.first_group,
              .changes = setup_.plan_changes}),
      announced_end_(plans_.decided_end()),
      aggregator_(*this, setup_.receive_staging) {
  const std::uint32_t me = rank_.number;
  if (me < plans_.compute_rank_count()) producer_.emplace(*this, setup_.on_resolved);
  const auto made = [this](std::uint64_t group, const std::shared_ptr<DataFile>& file) {
    aggregator_.set_file(group, file);
  };
  if (plans_.may_change() || plans_.newest_aggregation().is_owner(me))
    file_owner_.emplace(
        *this, FileOwner::Setup{setup_.dataset, setup_.first_group, setup_.newest_bytes, made});
  if (!setup_.commit_log) return;
  std::unique_ptr<PlanDecider> decider;
  if (setup_.plan_chooser)
    decider = std::make_unique<PlanDecider>(
        PlanDecider::Setup{setup_.path, std::move(setup_.plan_chooser), setup_.log}, plans_);
  coordinator_.emplace(*this, setup_.commit_log, *setup_.lease, std::move(decider));
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

void DatasetAgent::handle_peer_lost(comm::Rank peer, const Error& why) {
  payloads_.erase(peer.number);
  std::set<StepId> incomplete;
  std::erase_if(early_messages_, [&](const EarlyMessage& one) {
    if (one.from == peer) incomplete.insert(step_id_of(one.header));
    return one.from == peer;
  });
  if (has_all_left_) return;
  for (const StepId& step : incomplete)
    report_failure(step, why);
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
  for (std::uint32_t other = 0; other < plans_.compute_rank_count(); ++other)
    if (other != me && other != AggregationMap::coordinator() && plans_.depends_on(other, me))
      send({other}, MessageKind::kRankLost, {AggregationMap::coordinator()}, comm::to_bytes(why));
  // No plan will be decided any more. Steps that begin now fail with the loss.
  if (setup_.on_plans_decided) setup_.on_plans_decided(plans_, kAllGroups);
  for (EarlyMessage& message : std::exchange(early_messages_, {}))
    keep_early_message(message.from, message.header, std::move(message.payload));
}

}  // namespace forebay::write
