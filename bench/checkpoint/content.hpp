// SPDX-License-Identifier: Apache-2.0
// Content of blocks: 64-bit words that are a function of a fixed seed, the step and the offset in
// the step. A reader needs no reference file, and detects a word of another rank, offset or step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace forebay::bench::checkpoint {

/// Offset in the bytes of all ranks' blocks of a step, in the order of ranks. A multiple of 8.
struct ContentPosition {
  std::uint32_t step = 0;
  std::uint64_t offset_bytes = 0;
};

/// Writes all words of `bytes`, whose size is a multiple of 8.
void fill_content(std::span<std::byte> bytes, const ContentPosition& position);

/// Changes the content that fill_content() wrote for another step into that of `position`: one word
/// for each 4 KiB of the step changes, so that the cost for an application is negligible.
void restamp(std::span<std::byte> bytes, const ContentPosition& position);

/// The offset in `bytes` of the first word that differs from fill_content(), if any.
std::optional<std::uint64_t> first_mismatch(std::span<const std::byte> bytes,
                                            const ContentPosition& position);

}  // namespace forebay::bench::checkpoint
