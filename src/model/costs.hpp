// SPDX-License-Identifier: Apache-2.0
// What work costs on each server of a machine, in nanoseconds, worked out once: the event model
// looks it up for every part of a request.
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
  double turn_ns = 0;  ///< on the path, for a part of no bytes
  double turn_ns_per_byte = 0;
  bool takes_path = false;
};

class Costs {
 public:
  explicit Costs(const Machine& machine);

  /// Of reading or writing on data server `server`, or of an operation on names.
  const Cost& of(RequestKind kind, std::uint32_t server) const;
  Time lock_change() const { return lock_change_; }
  Time link_latency() const { return link_latency_; }
  double link_ns_per_byte() const { return link_ns_per_byte_; }

 private:
  std::vector<std::array<Cost, 2>> on_bytes_;
  std::array<Cost, 6> on_names_;
  Time lock_change_ = {};
  Time link_latency_ = {};
  double link_ns_per_byte_ = 0;
};

}  // namespace forebay::model
