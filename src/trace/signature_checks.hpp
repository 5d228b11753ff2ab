// SPDX-License-Identifier: Apache-2.0
// Limits of signatures, checked for all repetitions (docs/formats/signature.md#limits).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "trace/signature.hpp"

namespace forebay::trace {

/// The variables of loops, outermost first.
inline constexpr std::string_view kVariables = "ijklmnop";
static_assert(kVariables.size() == kLoopDepthMax);

/// A violation of the limits.
struct SignatureFault {
  std::size_t item = 0;  ///< from 0, in the order of the text: a loop comes before its items
  std::string cause;
};

/// The first violation.
std::optional<SignatureFault> find_fault(const Signature& signature);

}  // namespace forebay::trace
