// SPDX-License-Identifier: Apache-2.0
// CostTable: the cost of work on each server of a machine, in nanoseconds. Computed once, because
// the model looks it up for every subrequest.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/machine.hpp"
#include "model/storage_model.hpp"

namespace forebay::model {

/// One kind of work on one server.
struct Cost {
  Time latency = {};
  double transfer_ns = 0;  ///< on the channel, for a subrequest of no bytes
  double transfer_ns_per_byte = 0;
  bool has_transfer = false;
};

class CostTable {
 public:
  explicit CostTable(const Machine& machine);

  /// Cost of reading or writing on data server `server`, or of a metadata operation.
  const Cost& lookup(RequestKind kind, std::uint32_t server) const;
  /// Duration of a commit of data server `server`.
  Time sync_time(std::uint32_t server) const { return sync_times_[server]; }
  Time lock_change() const { return lock_change_; }
  Time link_latency() const { return link_latency_; }
  double link_ns_per_byte() const { return link_ns_per_byte_; }

 private:
  std::vector<std::array<Cost, 2>> data_costs_;
  std::vector<Time> sync_times_;
  std::array<Cost, 8> metadata_costs_;  ///< by RequestKind
  Time lock_change_ = {};
  Time link_latency_ = {};
  double link_ns_per_byte_ = 0;
};

}  // namespace forebay::model
