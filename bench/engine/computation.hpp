// SPDX-License-Identifier: Apache-2.0
// Arithmetic that fills a buffer and takes as long as somebody wants: what a program does between
// two writes. It is counted in words, not timed, so that whoever disturbs it makes it longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay::bench::engine {

class Computation {
 public:
  /// One that takes `seconds` on this core while nothing else runs; measured here, in 0.1 s.
  static Computation lasting(double seconds);

  /// Writes to `memory`, from its begin and again from there as often as it takes.
  void run(std::span<std::byte> memory) const;

 private:
  explicit Computation(std::uint64_t words) : words_(words) {}

  std::uint64_t words_;
};

}  // namespace forebay::bench::engine
