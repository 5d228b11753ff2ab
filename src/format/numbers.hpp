// SPDX-License-Identifier: Apache-2.0
// Elements of any type as numbers, to say by how much two differ.
#pragma once

#include <complex>

#include "format/records.hpp"

namespace forebay::format {

/// The element that these bytes are, of bytes_of(type) bytes; real types have no imaginary part.
std::complex<double> number_of(ElementType type,
                               ByteOrder order,
                               std::span<const std::byte> bytes) noexcept;

/// How arrays of the same type and length differ.
struct NumberDifference {
  std::uint64_t elements = 0;       ///< whose bytes differ
  std::uint64_t first_element = 0;  ///< of these
  double absolute_max = 0;          ///< a number against none (NaN): infinity
  double relative_max = 0;          ///< of the larger of the two
};

NumberDifference compare(ElementType type,
                         ByteOrder order,
                         std::span<const std::byte> left,
                         std::span<const std::byte> right) noexcept;

}  // namespace forebay::format
