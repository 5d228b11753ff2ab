// SPDX-License-Identifier: Apache-2.0
// The computation of an application between checkpoints: a fixed amount of work, so that its time
// shows any disturbance. One kind stays in registers, the other streams through more memory than
// caches hold.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace forebay::bench::checkpoint {

enum class ComputeKind : std::uint32_t { kNone, kCpu, kMemory };

/// "none", "cpu" or "memory".
std::string_view name_of(ComputeKind compute_kind) noexcept;

/// The work of one rank. Its memory is touched at construction.
class Computation {
 public:
  explicit Computation(ComputeKind compute_kind);

  /// Does `units` of work; returns the seconds.
  double run(std::uint64_t units);

  /// How many units take about `seconds` on this rank under the present load.
  std::uint64_t units_in(double seconds);

 private:
  void unit();

  ComputeKind compute_kind_;
  std::vector<double> memory_;
  double state_ = 1.0;
};

}  // namespace forebay::bench::checkpoint
