// SPDX-License-Identifier: Apache-2.0
// What blocks hold: 64-bit words that follow from a fixed seed, the step and the place in the step.
// A reader needs no file to compare with, and a word of another rank, place or step is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace forebay::bench::checkpoint {

/// Where bytes lie: in the bytes of all ranks' blocks of a step, one after the other in the order
/// of ranks. A multiple of 8.
struct Place {
  std::uint32_t step = 0;
  std::uint64_t offset_bytes = 0;
};

/// Writes all words of `bytes` (a multiple of 8 of them).
void fill(std::span<std::byte> bytes, const Place& place);

/// Turns what fill() wrote for another step into that of `place`: one word for each 4 KiB of the
/// step changes, so that it costs an application next to nothing.
void stamp(std::span<std::byte> bytes, const Place& place);

/// The offset in `bytes` of the first word that is not what fill() writes, if any.
std::optional<std::uint64_t> first_wrong(std::span<const std::byte> bytes, const Place& place);

}  // namespace forebay::bench::checkpoint
