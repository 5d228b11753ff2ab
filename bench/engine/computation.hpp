// SPDX-License-Identifier: Apache-2.0
// Arithmetic that fills a buffer and takes a chosen time: what a program computes between two
// writes. Its amount is fixed in words, not in time, so any disturbance makes it longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay::bench::engine {

class BufferComputation {
 public:
  /// Returns a computation of `seconds` on this core without other load; calibrated in 0.1 s.
  static BufferComputation with_duration(double seconds);

  /// Writes to `memory` in order, and again from its start until the computation is done.
  void run(std::span<std::byte> memory) const;

 private:
  explicit BufferComputation(std::uint64_t words) : words_(words) {}

  std::uint64_t words_;
};

}  // namespace forebay::bench::engine
