// SPDX-License-Identifier: Apache-2.0
// What an application does between checkpoints: a fixed amount of work, so that whatever disturbs
// it shows in its time. One kind stays in registers, the other streams through more memory than
// caches hold.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace forebay::bench::checkpoint {

enum class Computing : std::uint32_t { kNone, kProcessor, kMemory };

/// "none", "cpu" or "memory".
std::string_view name_of(Computing computing) noexcept;

/// The work of one rank. Its memory is touched when it is made.
class Computation {
 public:
  explicit Computation(Computing computing);

  /// Does `units` of work; returns the seconds they took.
  double run(std::uint64_t units);

  /// How many units take about `seconds` on this rank, with what else runs now.
  std::uint64_t units_in(double seconds);

 private:
  void unit();

  Computing computing_;
  std::vector<double> memory_;
  double state_ = 1.0;
};

}  // namespace forebay::bench::checkpoint
