// SPDX-License-Identifier: Apache-2.0
// How many bytes each rank writes in a step. Real checkpoints are uneven. Every candidate gets the
// same numbers, which depend only on the arguments, so that runs of different programs can be
// compared.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace forebay::study {

enum class SizeDistribution : std::uint8_t {
  kEqual,
  kExponential,  ///< the quantiles of an exponential distribution, in the middle of equal shares
};

/// "equal" or "exponential".
std::string_view name_of(SizeDistribution sizes) noexcept;

/// Bytes of each of `ranks` blocks: multiples of 8, at least 8, whose sum is `step_bytes` (a
/// multiple of 8, at least 8 for each rank). Largest over mean of exponential ones: 2.27 for 4
/// ranks, 2.90 for 8. The large ones are spread over the ranks, not gathered at one end.
std::vector<std::uint64_t> block_sizes(SizeDistribution sizes,
                                       std::uint32_t ranks,
                                       std::uint64_t step_bytes);

}  // namespace forebay::study
