// SPDX-License-Identifier: Apache-2.0
// Prefetches the rows that a remapping reads next. It alternates between a dozen metrics in as many
// places of the file, a pattern that the kernel's readahead does not detect.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cube/remap_context.hpp"
#include "cube/remap_metrics.hpp"

namespace forebay::cube {

/// Thread-safe. Prefetches each row once; one that is read again later may have been evicted from
/// the page cache.
class InputPrefetcher {
 public:
  /// `source` must outlive the object.
  explicit InputPrefetcher(const RemapContext& source);

  /// Prefetches the input of `count` rows of `metric`, from position `first` of its index. For a
  /// converted row, that is every stored row it is made of. For a computed row, it is the input of
  /// its call path only: whether it reads those below is unknown, and they are prefetched with rows
  /// of their own call paths.
  void prefetch(const RemapMetric& metric, std::uint64_t first, std::uint64_t count);

 private:
  void prefetch_inputs(const FlavoredRow& which);

  const RemapContext& source_;
  const std::vector<std::size_t> inputs_;                  // of expressions
  const std::vector<std::uint32_t> exclusive_call_paths_;  // by row
  const std::vector<std::uint32_t> inclusive_call_paths_;
  std::vector<std::atomic<bool>> is_prefetched_;  // by metric and row
};

}  // namespace forebay::cube
