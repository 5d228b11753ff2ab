// SPDX-License-Identifier: Apache-2.0
// StepFormulas: for how long each resource of a machine works on its share of a step: metadata
// servers, data servers, links, writers with their requests in flight, locks. step_cost() takes the
// shares from totals, the flow simulator from the bytes of each rank.
#pragma once

#include <cstdint>
#include <span>

#include "model/machine.hpp"
#include "model/queueing.hpp"
#include "write/plan.hpp"

namespace forebay::write {

/// A file of a step.
struct FileLoad {
  double bytes = 0;
  double writers = 1;
  double clients = 1;  ///< nodes of its writers
};

/// The requests at one server.
struct ServerActivity {
  double rpc_bytes = 1;
  double rpcs_in_flight = 1;
};

/// Times in microseconds. Rates of 0 are unlimited.
class StepFormulas {
 public:
  /// `plan` must be complete. Both must outlive this object.
  StepFormulas(const model::Machine& machine, const WritePlan& plan);

  /// Bytes of one request fragment (RPC) of a writer with `writer_bytes`: stripes and the client's
  /// request size split requests.
  double rpc_bytes(double writer_bytes) const;
  /// Servers that hold a file of `bytes`.
  double servers_of_file(double bytes) const;
  /// Servers of a file that this many consecutive requests use.
  double servers_in_use(double requests) const;
  /// Requests that a writer with `bytes` has in flight.
  double requests_in_flight(double bytes) const;

  /// `creates` files created and `opens` opened by their further writers at one metadata server.
  double metadata_us(double creates, double opens) const;
  double first_create_us() const;
  /// One request of `bytes` to an idle server.
  double request_us(double bytes) const;
  /// `bytes` of one writer, without other writers.
  double writer_us(double bytes) const;
  /// `bytes` written to one server.
  static double server_us(const model::ServerGroup& server,
                          double bytes,
                          const ServerActivity& activity);
  /// Changes of locks of a file. Writes of other files proceed meanwhile.
  double locks_us(const FileLoad& file) const;
  /// Rounds in which the writers of a file get growing locks; each revokes one lock.
  double lock_rounds(const FileLoad& file) const;
  /// What the changes of these locks add to the time of busy servers.
  double lock_round_us() const;
  /// Limits of a file that several ranks write, and of its writers.
  double sharing_us(const FileLoad& file, double writer_bytes) const;

  bool is_baton() const { return is_baton_; }
  const model::Machine& machine() const { return machine_; }
  const WritePlan& plan() const { return plan_; }
  double link_us(double bytes) const;
  double network_us(double bytes) const;
  double io_node_us(double bytes) const;

 private:
  const model::Machine& machine_;
  const WritePlan& plan_;
  double stripe_bytes_ = 0;
  double stripe_count_ = 1;
  double unit_ = 1;
  double requests_ = 1;  ///< in flight, of a writer
  bool is_baton_ = false;
};

using model::transfer_us;

/// The time of stages that overlap as `power` states (Machine's stage_power): the p-norm of their
/// times, or the longest with 0. Does not overflow.
double overlapped_us(std::span<const double> stages, double power);

}  // namespace forebay::write
