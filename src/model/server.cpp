// SPDX-License-Identifier: Apache-2.0
// The queue of one server. The order of events at one time is fixed here: a subrequest that leaves
// frees the channel first, then its slot.
#include "model/server.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.hpp"

namespace forebay::model {

void SerialChannel::start_next(SimulationState& simulation, Time now, double slowness) {
  if (active_ != kNoSubrequest || waiting_.empty()) return;
  active_ = waiting_.pop(simulation.subrequests);
  const double transfer_ns = simulation.subrequests[active_].transfer_ns * slowness + remainder_ns_;
  const double whole_ns = std::floor(transfer_ns);
  remainder_ns_ = transfer_ns - whole_ns;
  simulation.events.push(
      {now + Time(static_cast<std::int64_t>(whole_ns)), done_kind_, place_, active_});
}

SubrequestIndex SerialChannel::finish() {
  FOREBAY_ASSERT(active_ != kNoSubrequest);
  return std::exchange(active_, kNoSubrequest);
}

SubrequestIndex SerialChannel::pop_waiting(SimulationState& simulation) {
  return waiting_.empty() ? kNoSubrequest : waiting_.pop(simulation.subrequests);
}

void Server::arrive(SimulationState& simulation, Time now, SubrequestIndex subrequest) {
  if (is_dropping()) return drop(simulation, subrequest);
  simulation.subrequests[subrequest].queued_at = now;
  waiting_.push(simulation.subrequests, subrequest);
  ++counters_.waiting;
  start_queued(simulation, now);
  counters_.waiting_max = std::max(counters_.waiting_max, counters_.waiting);
}

bool Server::finish_latency(SimulationState& simulation, Time now, SubrequestIndex subrequest) {
  if (!simulation.subrequests[subrequest].has_transfer) {
    end_service(now);
    start_queued(simulation, now);
    return true;
  }
  if (is_dropping()) {
    end_service(now);
    drop(simulation, subrequest);
  } else {
    start_transfer(simulation, now, subrequest);
  }
  return false;
}

SubrequestIndex Server::finish_transfer(SimulationState& simulation, Time now) {
  const SubrequestIndex subrequest = channel_.finish();
  end_service(now);
  if (is_running()) channel_.start_next(simulation, now, condition_.slowness);
  start_queued(simulation, now);
  return subrequest;
}

void Server::sync(SimulationState& simulation, Time now, SubrequestIndex subrequest) {
  if (is_dropping()) return drop(simulation, subrequest);
  simulation.subrequests[subrequest].queued_at = now;
  waiting_syncs_.push(simulation.subrequests, subrequest);
  start_commit(simulation, now);
}

/// All syncs that wait share one commit, as file systems with a journal do.
void Server::start_commit(SimulationState& simulation, Time now) {
  if (!is_running() || !commit_.empty() || waiting_syncs_.empty()) return;
  commit_ = std::exchange(waiting_syncs_, {});
  ++counters_.commits;
  const Time latency = simulation.subrequests[commit_.first()].latency;
  const double commit_ns = static_cast<double>(latency.count()) * condition_.slowness;
  simulation.events.push(
      {now + Time(std::llround(commit_ns)), EventKind::kCommitDone, config_.index});
}

SubrequestQueue Server::finish_commit(SimulationState& simulation, Time now) {
  const SubrequestQueue committed = std::exchange(commit_, {});
  start_commit(simulation, now);
  return committed;
}

void Server::set_condition(SimulationState& simulation, Time now, ServerCondition condition) {
  condition_ = condition;
  if (is_running()) {
    channel_.start_next(simulation, now, condition_.slowness);
    start_queued(simulation, now);
    start_commit(simulation, now);
  }
  if (!is_dropping()) return;
  for (SubrequestIndex subrequest = channel_.pop_waiting(simulation); subrequest != kNoSubrequest;
       subrequest = channel_.pop_waiting(simulation)) {
    end_service(now);
    drop(simulation, subrequest);
  }
  while (!waiting_.empty()) {
    --counters_.waiting;
    drop(simulation, waiting_.pop(simulation.subrequests));
  }
  while (!waiting_syncs_.empty())
    drop(simulation, waiting_syncs_.pop(simulation.subrequests));
}

ServerCounters Server::counters_at(Time now) const {
  ServerCounters counters = counters_;
  if (counters.in_service > 0) counters.busy_time += now - busy_since_;
  return counters;
}

void Server::reset_counters(Time now) {
  counters_ = {.in_service = counters_.in_service,
               .in_service_max = counters_.in_service,
               .waiting = counters_.waiting,
               .waiting_max = counters_.waiting};
  busy_since_ = now;
}

void Server::drop(SimulationState& simulation, SubrequestIndex subrequest) {
  ++counters_.dropped;
  simulation.dropped.push_back(subrequest);
}

void Server::start_queued(SimulationState& simulation, Time now) {
  while (is_running() && !waiting_.empty() && counters_.in_service < config_.concurrency) {
    --counters_.waiting;
    start_service(simulation, now, waiting_.pop(simulation.subrequests));
  }
}

void Server::start_service(SimulationState& simulation, Time now, SubrequestIndex subrequest) {
  if (counters_.in_service == 0) busy_since_ = now;
  ++counters_.in_service;
  counters_.in_service_max = std::max(counters_.in_service_max, counters_.in_service);
  const Subrequest& state = simulation.subrequests[subrequest];
  counters_.wait_time += now - state.queued_at;
  if (state.has_transfer && state.latency == Time{})
    return start_transfer(simulation, now, subrequest);
  const auto latency_ns = static_cast<double>(state.latency.count()) * condition_.slowness;
  simulation.events.push(
      {now + Time(std::llround(latency_ns)), EventKind::kLatencyDone, config_.index, subrequest});
}

void Server::start_transfer(SimulationState& simulation, Time now, SubrequestIndex subrequest) {
  channel_.enqueue(simulation, subrequest);
  if (is_running()) channel_.start_next(simulation, now, condition_.slowness);
}

void Server::end_service(Time now) {
  if (--counters_.in_service == 0) counters_.busy_time += now - busy_since_;
}

}  // namespace forebay::model
