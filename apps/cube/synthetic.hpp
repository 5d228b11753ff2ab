// SPDX-License-Identifier: Apache-2.0
// A profile that was never measured: the description of a hybrid MPI and OpenMP program of any
// size, and values for it that add up. All of it follows from a seed, on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cube/anchor.hpp"

namespace forebay::cube {

/// The size of a profile.
struct SyntheticShape {
  std::uint32_t locations = 65535;
  std::uint32_t metrics = 11;
  std::uint32_t call_paths = 56;
  std::optional<ValueType> type = std::nullopt;  ///< of all metrics; else each has its own
};

/// Threads of a process, and processes of a node.
inline constexpr std::uint32_t kThreadsPerProcess = 64;
inline constexpr std::uint32_t kProcessesPerNode = 16;

/// The description. Types chosen by us take 8 bytes.
Anchor synthetic_anchor(const SyntheticShape& shape);

/// The values of one metric. Exclusive values are a number of the call path times one of the
/// location, inclusive ones their sums over subtrees, so that times add up; in types that hold less
/// than 64 bits they are cut to what fits. Reading from several threads is safe.
class SyntheticValues {
 public:
  /// `metric` is a place in `anchor`, which outlives this.
  SyntheticValues(const Anchor& anchor, std::size_t metric, std::uint64_t seed);

  /// Fills `row`, of row_bytes(), with the values of the call path at `place`, in `order`.
  void fill(std::uint32_t place, ByteOrder order, std::span<std::byte> row) const;

 private:
  ValueType type_;
  std::vector<std::uint64_t> of_place_;
  std::vector<std::uint16_t> of_location_;
};

/// Which call paths have a row of a metric of this kind: all but `missing`, drawn by the seed. As
/// row numbers, rising. Whoever has a call path with a row below has one as well: an inclusive
/// value is never less than those below it.
std::vector<std::uint32_t> synthetic_rows(const CallTree& tree,
                                          MetricKind kind,
                                          std::uint32_t missing,
                                          std::uint64_t seed);

}  // namespace forebay::cube
