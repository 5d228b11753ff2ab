// SPDX-License-Identifier: Apache-2.0
// compare_elements(): elements of any type as numbers, and the size of their differences.
#pragma once

#include <complex>

#include "format/records.hpp"

namespace forebay::format {

/// The element in these bytes, of which there are element_size(type); real types have no imaginary
/// part.
std::complex<double> decode_element(ElementType type,
                                    ByteOrder order,
                                    std::span<const std::byte> bytes) noexcept;

/// How arrays of the same type and length differ.
struct ArrayDifference {
  std::uint64_t elements = 0;       ///< with different bytes
  std::uint64_t first_element = 0;  ///< of these
  double absolute_max = 0;          ///< a number against NaN: infinity
  double relative_max = 0;          ///< relative to the larger of the two
};

ArrayDifference compare_elements(ElementType type,
                                 ByteOrder order,
                                 std::span<const std::byte> left,
                                 std::span<const std::byte> right) noexcept;

}  // namespace forebay::format
