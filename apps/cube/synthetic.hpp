// SPDX-License-Identifier: Apache-2.0
// A profile that was never measured: the description of a hybrid MPI and OpenMP program of any
// size, and consistent values. Everything depends on a seed only, on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cube/anchor.hpp"

namespace forebay::cube {

/// The size of a profile.
struct SyntheticOptions {
  std::uint32_t locations = 65535;
  std::uint32_t metrics = 11;
  std::uint32_t call_paths = 56;
  std::optional<ValueType> type = std::nullopt;  ///< of all metrics; absent: each has its own type
};

/// Threads per process, and processes per node.
inline constexpr std::uint32_t kThreadsPerProcess = 64;
inline constexpr std::uint32_t kProcessesPerNode = 16;

/// The description. Types chosen by default take 8 bytes.
Anchor synthetic_anchor(const SyntheticOptions& shape);

/// The values of one metric. An exclusive value is a number of the call path times a number of the
/// location; inclusive values are sums of those over subtrees. Types of less than 64 bits hold
/// truncated values. Reading is thread-safe.
class SyntheticValues {
 public:
  /// `metric` is an index in `anchor`, which must outlive the object.
  SyntheticValues(const Anchor& anchor, std::size_t metric, std::uint64_t seed);

  /// Fills `row`, of row_bytes(), with the values of the call path at `index` of the tree, in
  /// byte order `order`.
  void fill(std::uint32_t index, ByteOrder order, std::span<std::byte> row) const;

 private:
  ValueType type_;
  std::vector<std::uint64_t> call_path_values_;
  std::vector<std::uint16_t> location_factors_;
};

/// Returns the row numbers, ascending, of the call paths that have a row in a metric of this kind:
/// all but `missing`, chosen by the seed. A call path has a row if one below it has: an inclusive
/// value is never less than those below it.
std::vector<std::uint32_t> synthetic_rows(const CallTree& tree,
                                          MetricKind kind,
                                          std::uint32_t missing,
                                          std::uint64_t seed);

}  // namespace forebay::cube
