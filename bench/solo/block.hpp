// SPDX-License-Identifier: Apache-2.0
// A block of a three-dimensional array, and the two ways to get it: as one request, and by a pread
// for each of its rows. On a disk and on an emulated parallel file system they are the same.
#pragma once

#include <forebay/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace forebay::bench::solo {

/// A cube in a cube of doubles in C order, whose words are their own offsets.
struct Block {
  std::filesystem::path path;
  std::uint64_t edge = 0;
  std::uint64_t block_edge = 0;
  std::uint64_t start = 0;  ///< along each axis

  std::uint64_t file_bytes() const noexcept { return edge * edge * edge * sizeof(double); }
  std::uint64_t bytes() const noexcept {
    return block_edge * block_edge * block_edge * sizeof(double);
  }
  /// From the first byte of a plane's first row to the last byte of its last one, in all planes.
  std::uint64_t span_bytes() const noexcept {
    return block_edge * ((block_edge - 1) * edge + block_edge) * sizeof(double);
  }
  std::uint64_t row_bytes() const noexcept { return block_edge * sizeof(double); }
  std::uint64_t row_offset(std::uint64_t z, std::uint64_t y) const noexcept {
    return (((start + z) * edge + start + y) * edge + start) * sizeof(double);
  }
};

/// Seconds from opening a session to the last byte of the block in `into`, which has its size.
/// Checked, outside the clock.
Result<double> time_request(Runtime& runtime,
                            const Block& block,
                            std::span<std::byte> into,
                            const ReadPlan& plan = {});

/// The same by a program without Forebay, through the page cache.
Result<double> time_rows(const Block& block, std::span<std::byte> into);

}  // namespace forebay::bench::solo
