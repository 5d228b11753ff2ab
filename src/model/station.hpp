// SPDX-License-Identifier: Apache-2.0
// One server as a queue: places, a latency, and one path that parts take in turns. A link of a
// client is such a path alone. They know nothing of clocks: they note on the agenda what they
// begin, and are told when it is over.
#pragma once

#include <cstdint>
#include <vector>

#include "model/agenda.hpp"
#include "model/parts.hpp"

namespace forebay::model {

/// What all queues of a model share.
struct Flow {
  Agenda agenda;
  Parts parts;
  std::vector<PartIndex> lost = {};  ///< by servers that drop, since somebody looked
};

/// What parts take one after the other, each for its path_ns.
class Path {
 public:
  /// The end of each turn is noted as an event of this kind and place.
  Path(EventKind over, std::uint32_t place) : over_(over), place_(place) {}

  void enter(Flow& flow, PartIndex part) { waiting_.push(flow.parts, part); }
  /// The next turn begins, if the path is free and somebody waits.
  void start_next(Flow& flow, Time now, double slowness);
  /// The turn that was noted is over: the part that had it.
  PartIndex finish();
  /// A part that waits gives up its turn, the first first; kNoPart if there is none.
  PartIndex give_up(Flow& flow);

 private:
  EventKind over_;
  std::uint32_t place_;
  PartQueue waiting_;
  PartIndex current_ = kNoPart;
  /// What is less than a nanosecond of the turns before, so that rounding does not add up.
  double remainder_ns_ = 0;
};

struct StationShape {
  std::uint32_t index = 0;  ///< the place in events
  std::uint32_t concurrency = 1;
};

class Station {
 public:
  explicit Station(StationShape shape)
      : shape_(shape), path_(EventKind::kTransferOver, shape.index) {}

  void arrive(Flow& flow, Time now, PartIndex part);
  /// True if the part is done with that.
  bool latency_over(Flow& flow, Time now, PartIndex part);
  /// The part that is done with that.
  PartIndex transfer_over(Flow& flow, Time now);
  void set_condition(Flow& flow, Time now, ServerCondition condition);

  ServerCounters& counters() { return counters_; }
  /// With what is in service counted up to `now`.
  ServerCounters counters_at(Time now) const;
  void reset_counters(Time now);

 private:
  bool works() const { return condition_.state == ServerCondition::State::kWorks; }
  bool drops() const { return condition_.state == ServerCondition::State::kDrops; }
  void lose(Flow& flow, PartIndex part);
  void start_waiting(Flow& flow, Time now);
  void begin(Flow& flow, Time now, PartIndex part);
  void take_turn(Flow& flow, Time now, PartIndex part);
  void leave(Time now);

  StationShape shape_;
  ServerCondition condition_;
  PartQueue waiting_;
  Path path_;
  ServerCounters counters_;
  Time busy_since_ = {};
};

}  // namespace forebay::model
