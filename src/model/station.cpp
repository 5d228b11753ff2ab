// SPDX-License-Identifier: Apache-2.0
// One server's queue. The order of what happens at one moment is fixed here: who leaves makes room
// for the path first, then for a place.
#include "model/station.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.hpp"

namespace forebay::model {

void Path::start_next(Flow& flow, Time now, double slowness) {
  if (current_ != kNoPart || waiting_.empty()) return;
  current_ = waiting_.pop(flow.parts);
  const double turn_ns = flow.parts[current_].path_ns * slowness + remainder_ns_;
  const double whole_ns = std::floor(turn_ns);
  remainder_ns_ = turn_ns - whole_ns;
  flow.agenda.note({now + Time(static_cast<std::int64_t>(whole_ns)), over_, place_, current_});
}

PartIndex Path::finish() {
  FOREBAY_ASSERT(current_ != kNoPart);
  return std::exchange(current_, kNoPart);
}

PartIndex Path::give_up(Flow& flow) {
  return waiting_.empty() ? kNoPart : waiting_.pop(flow.parts);
}

void Station::arrive(Flow& flow, Time now, PartIndex part) {
  if (drops()) return lose(flow, part);
  flow.parts[part].came = now;
  waiting_.push(flow.parts, part);
  ++counters_.waiting;
  start_waiting(flow, now);
  counters_.waiting_most = std::max(counters_.waiting_most, counters_.waiting);
}

bool Station::latency_over(Flow& flow, Time now, PartIndex part) {
  if (!flow.parts[part].takes_path) {
    leave(now);
    start_waiting(flow, now);
    return true;
  }
  if (drops()) {
    leave(now);
    lose(flow, part);
  } else {
    take_turn(flow, now, part);
  }
  return false;
}

PartIndex Station::transfer_over(Flow& flow, Time now) {
  const PartIndex part = path_.finish();
  leave(now);
  if (works()) path_.start_next(flow, now, condition_.slowness);
  start_waiting(flow, now);
  return part;
}

void Station::set_condition(Flow& flow, Time now, ServerCondition condition) {
  condition_ = condition;
  if (works()) {
    path_.start_next(flow, now, condition_.slowness);
    start_waiting(flow, now);
  }
  if (!drops()) return;
  for (PartIndex part = path_.give_up(flow); part != kNoPart; part = path_.give_up(flow)) {
    leave(now);
    lose(flow, part);
  }
  while (!waiting_.empty()) {
    --counters_.waiting;
    lose(flow, waiting_.pop(flow.parts));
  }
}

ServerCounters Station::counters_at(Time now) const {
  ServerCounters counters = counters_;
  if (counters.in_service > 0) counters.busy += now - busy_since_;
  return counters;
}

void Station::reset_counters(Time now) {
  counters_ = {.in_service = counters_.in_service,
               .in_service_most = counters_.in_service,
               .waiting = counters_.waiting,
               .waiting_most = counters_.waiting};
  busy_since_ = now;
}

void Station::lose(Flow& flow, PartIndex part) {
  ++counters_.dropped;
  flow.lost.push_back(part);
}

void Station::start_waiting(Flow& flow, Time now) {
  while (works() && !waiting_.empty() && counters_.in_service < shape_.concurrency) {
    --counters_.waiting;
    begin(flow, now, waiting_.pop(flow.parts));
  }
}

void Station::begin(Flow& flow, Time now, PartIndex part) {
  if (counters_.in_service == 0) busy_since_ = now;
  ++counters_.in_service;
  counters_.in_service_most = std::max(counters_.in_service_most, counters_.in_service);
  const PartState& state = flow.parts[part];
  counters_.waited += now - state.came;
  if (state.takes_path && state.latency == Time{}) return take_turn(flow, now, part);
  const auto latency_ns = static_cast<double>(state.latency.count()) * condition_.slowness;
  flow.agenda.note(
      {now + Time(std::llround(latency_ns)), EventKind::kLatencyOver, shape_.index, part});
}

void Station::take_turn(Flow& flow, Time now, PartIndex part) {
  path_.enter(flow, part);
  if (works()) path_.start_next(flow, now, condition_.slowness);
}

void Station::leave(Time now) {
  if (--counters_.in_service == 0) counters_.busy += now - busy_since_;
}

}  // namespace forebay::model
