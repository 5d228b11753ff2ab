// SPDX-License-Identifier: Apache-2.0
// Units of intervals in signatures, for the parser and the printer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace forebay::trace {

struct IntervalUnit {
  std::string_view name;
  std::int64_t ns = 1;
};

/// Greatest first.
inline constexpr std::array<IntervalUnit, 4> kIntervalUnits{
    {{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};

}  // namespace forebay::trace
