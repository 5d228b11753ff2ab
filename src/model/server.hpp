// SPDX-License-Identifier: Apache-2.0
// Server: one server as a queue, with slots, a latency, and one channel that subrequests take one
// after the other. A link of a client is such a channel alone. They have no clock: they push an
// event for the end of each action, and are called at that time.
#pragma once

#include <cstdint>
#include <vector>

#include "model/event_queue.hpp"
#include "model/subrequests.hpp"

namespace forebay::model {

/// Shared by all queues of a model.
struct SimulationState {
  EventQueue events;
  SubrequestPool subrequests;
  /// By servers that drop requests, since the last collection.
  std::vector<SubrequestIndex> dropped = {};
};

/// A resource that subrequests take one after the other, each for its transfer_ns.
class SerialChannel {
 public:
  /// Each transfer ends with an event of this kind and resource.
  SerialChannel(EventKind done_kind, std::uint32_t place) : done_kind_(done_kind), place_(place) {}

  void enqueue(SimulationState& simulation, SubrequestIndex subrequest) {
    waiting_.push(simulation.subrequests, subrequest);
  }
  /// Starts the next transfer, if the channel is free and a subrequest waits.
  void start_next(SimulationState& simulation, Time now, double slowness);
  /// Ends the transfer in progress; returns its subrequest.
  SubrequestIndex finish();
  /// Removes the subrequest that waits longest; kNoSubrequest if none waits.
  SubrequestIndex pop_waiting(SimulationState& simulation);

 private:
  EventKind done_kind_;
  std::uint32_t place_;
  SubrequestQueue waiting_;
  SubrequestIndex active_ = kNoSubrequest;
  /// Fractions of a nanosecond of former transfers, so that rounding errors do not add up.
  double remainder_ns_ = 0;
};

struct ServerConfig {
  std::uint32_t index = 0;  ///< the resource in events
  std::uint32_t concurrency = 1;
};

class Server {
 public:
  explicit Server(ServerConfig config)
      : config_(config), channel_(EventKind::kTransferDone, config.index) {}

  void arrive(SimulationState& simulation, Time now, SubrequestIndex subrequest);
  /// True if the subrequest is complete with its latency.
  bool finish_latency(SimulationState& simulation, Time now, SubrequestIndex subrequest);
  /// Returns the subrequest that is complete with its transfer.
  SubrequestIndex finish_transfer(SimulationState& simulation, Time now);
  /// Queues a sync for the next commit, which takes its latency.
  void sync(SimulationState& simulation, Time now, SubrequestIndex subrequest);
  /// Returns the syncs that the commit covers.
  SubrequestQueue finish_commit(SimulationState& simulation, Time now);
  void set_condition(SimulationState& simulation, Time now, ServerCondition condition);

  ServerCounters& counters() { return counters_; }
  /// With the busy time up to `now`.
  ServerCounters counters_at(Time now) const;
  void reset_counters(Time now);

 private:
  bool is_running() const { return condition_.state == ServerCondition::State::kRunning; }
  bool is_dropping() const { return condition_.state == ServerCondition::State::kDropping; }
  void drop(SimulationState& simulation, SubrequestIndex subrequest);
  void start_queued(SimulationState& simulation, Time now);
  void start_service(SimulationState& simulation, Time now, SubrequestIndex subrequest);
  void start_transfer(SimulationState& simulation, Time now, SubrequestIndex subrequest);
  void end_service(Time now);
  void start_commit(SimulationState& simulation, Time now);

  ServerConfig config_;
  ServerCondition condition_;
  SubrequestQueue waiting_;
  SerialChannel channel_;
  SubrequestQueue waiting_syncs_;
  SubrequestQueue commit_;  ///< syncs that the commit in progress covers
  ServerCounters counters_;
  Time busy_since_ = {};
};

}  // namespace forebay::model
