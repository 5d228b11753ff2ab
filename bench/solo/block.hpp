// SPDX-License-Identifier: Apache-2.0
// A block of a three-dimensional array, and the two ways to read it: as one request, and by a pread
// for each of its rows. Used on a disk and on an emulated parallel file system.
#pragma once

#include <forebay/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace forebay::bench::solo {

/// A cube in a cube of doubles in C order, whose words equal their offsets.
struct Block {
  std::filesystem::path path;
  std::uint64_t edge = 0;
  std::uint64_t block_edge = 0;
  std::uint64_t start = 0;  ///< along each axis

  std::uint64_t file_bytes() const noexcept { return edge * edge * edge * sizeof(double); }
  std::uint64_t bytes() const noexcept {
    return block_edge * block_edge * block_edge * sizeof(double);
  }
  /// Over all planes: bytes from the first byte of a plane's first row to the last byte of its last
  /// row.
  std::uint64_t span_bytes() const noexcept {
    return block_edge * ((block_edge - 1) * edge + block_edge) * sizeof(double);
  }
  std::uint64_t row_bytes() const noexcept { return block_edge * sizeof(double); }
  std::uint64_t row_offset(std::uint64_t z, std::uint64_t y) const noexcept {
    return (((start + z) * edge + start + y) * edge + start) * sizeof(double);
  }
};

/// Seconds from opening a session to the last byte of the block in `into`, which has the block's
/// size. Verified outside the measured time.
Result<double> time_request(Runtime& runtime,
                            const Block& block,
                            std::span<std::byte> into,
                            const ReadPlan& plan = {});

/// The same by a program without Forebay, through the page cache.
Result<double> time_rows(const Block& block, std::span<std::byte> into);

}  // namespace forebay::bench::solo
