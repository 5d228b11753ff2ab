// SPDX-License-Identifier: Apache-2.0
// The operators of CubePL on numbers, for one value and for rows of values.
// docs/formats/remapping.md specifies where they differ from IEEE (0 divided by 0 is 0).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cube/cubepl/lanes.hpp"
#include "cube/cubepl/syntax.hpp"

namespace forebay::cubepl {

/// The number at the beginning of `text`, else 0.
double parse_number(std::string_view text);
/// Formats a number with at most 14 significant digits.
std::string format_number(double number);
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

/// Applies `op`, which must have one numeric child, to `count` lanes.
Lanes apply(Op op, Lanes operand, std::size_t count, Scratch& scratch);
/// Applies `op`, which must have two numeric children.
Lanes apply(Op op, Lanes left, Lanes right, std::size_t count, Scratch& scratch);

/// `chosen` where the mask is not 0, else `other`.
Lanes blend(const Lanes& mask,
            const Lanes& chosen,
            const Lanes& other,
            std::size_t count,
            Scratch& scratch);
/// Returns the same values; a row is copied to a row owned by the result.
Lanes copy_lanes(const Lanes& lanes, std::size_t count, Scratch& scratch);
/// Whether any lane is not 0.
bool any_nonzero(const Lanes& lanes, std::size_t count);

}  // namespace forebay::cubepl
