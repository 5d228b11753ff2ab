// SPDX-License-Identifier: Apache-2.0
// The operators of CubePL on numbers, for one value and for rows of them. Where they are not those
// of IEEE (0 divided by 0 is 0), docs/formats/remapping.md says so.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cube/cubepl/lanes.hpp"
#include "cube/cubepl/syntax.hpp"

namespace forebay::cubepl {

/// The number that `text` begins with, else 0.
double number_of(std::string_view text);
/// At most 14 significant digits.
std::string text_of(double number);
std::string in_lower_case(std::string_view text);
std::string in_upper_case(std::string_view text);

/// `op` is one of those with one numeric child, `count` how many lanes there are.
Lanes apply(Op op, Lanes operand, std::size_t count, Scratch& scratch);
/// `op` is one of those with two numeric children.
Lanes apply(Op op, Lanes left, Lanes right, std::size_t count, Scratch& scratch);

/// `chosen` where the mask is not 0, else `other`.
Lanes blend(const Lanes& mask,
            const Lanes& chosen,
            const Lanes& other,
            std::size_t count,
            Scratch& scratch);
/// The same values in a row of their own, if they are a row.
Lanes copy_of(const Lanes& lanes, std::size_t count, Scratch& scratch);
/// Whether any lane is not 0.
bool any(const Lanes& lanes, std::size_t count);

}  // namespace forebay::cubepl
