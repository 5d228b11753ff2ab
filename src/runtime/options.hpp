// SPDX-License-Identifier: Apache-2.0
// RuntimeOptions from environment variables that the caller passes.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <optional>

#include "base/config.hpp"

namespace forebay {

/// As options_from_environment(), with these variables instead of those of the process.
Result<RuntimeOptions> options_from(const Environment& environment);

/// The part of a requested budget that one of `ranks` of a node may take, if the node, or the
/// control group of this process, has `free_bytes`; without a value, all of it.
std::uint64_t affordable_budget(std::uint64_t requested_bytes,
                                std::optional<std::uint64_t> free_bytes,
                                std::uint32_t ranks) noexcept;

}  // namespace forebay
