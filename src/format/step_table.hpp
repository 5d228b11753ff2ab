// SPDX-License-Identifier: Apache-2.0
// The records of steps, as they lie in a slot, behind the slots, or in a past block.
#pragma once

#include "format/records.hpp"

namespace forebay::format {

/// Bytes of the record of a step with so many files.
std::uint64_t step_bytes(std::size_t files) noexcept;
std::uint64_t steps_bytes(std::span<const StepEntry> steps) noexcept;

/// Steps and files must rise (FOREBAY_ASSERT).
std::vector<std::byte> encode_steps(std::span<const StepEntry> steps);

/// Exactly `count` steps in exactly these bytes; kDamage otherwise, or if steps, or files of a
/// step, do not rise. `offset` is where the bytes lie, for the Error.
Result<std::vector<StepEntry>> decode_steps(std::span<const std::byte> bytes,
                                            std::uint64_t count,
                                            const std::string& path,
                                            std::uint64_t offset);

}  // namespace forebay::format
