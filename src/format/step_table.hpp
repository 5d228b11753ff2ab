// SPDX-License-Identifier: Apache-2.0
// Records of steps, in a slot, behind the slots, or in a history table.
#pragma once

#include "format/records.hpp"

namespace forebay::format {

/// Bytes of the record of a step with this number of files.
std::uint64_t step_record_bytes(std::size_t files) noexcept;
std::uint64_t step_table_bytes(std::span<const StepEntry> steps) noexcept;

/// Steps and files must rise (FOREBAY_ASSERT).
std::vector<std::byte> encode_steps(std::span<const StepEntry> steps);

/// Exactly `count` steps in exactly these bytes; kDamage otherwise, or if steps, or files of a
/// step, do not rise. `offset` is that of the bytes in the file, for the Error.
Result<std::vector<StepEntry>> decode_steps(std::span<const std::byte> bytes,
                                            std::uint64_t count,
                                            const std::string& path,
                                            std::uint64_t offset);

}  // namespace forebay::format
