// SPDX-License-Identifier: Apache-2.0
// Checks whether blocks of an array form a regular grid, as chunks of Zarr must. A pure function of
// boxes, so that it can be tested without files.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/index.hpp"

namespace forebay::dataset_tool {

/// Chunks of one size that cover an array. The last ones along dimension 0 may extend past the end
/// of the array; those of other dimensions fit.
struct ChunkGrid {
  format::Coordinates chunk = {};  ///< elements along each dimension
  format::Coordinates count = {};  ///< chunks along each dimension
};

/// Whether a block may be split into several chunks, one after another along dimension 0, as its
/// bytes are stored. Impossible with a codec.
enum class SplitMode : std::uint8_t { kNone, kByRows };

/// Maximum number of references of one array; they need about 100 bytes each.
inline constexpr std::uint64_t kChunksMax = 1'000'000;

/// Finds the grid. Split blocks become chunks whose number of rows is the greatest common divisor
/// of the blocks' starts and of the array's rows. kUnsupported, with the cause, if the boxes form
/// no grid: another size, a start inside a chunk, a block that is missing or occurs twice.
Result<ChunkGrid> find_grid(std::span<const std::uint64_t> shape,
                            std::span<const format::Box> boxes,
                            SplitMode split_mode = SplitMode::kNone);

/// The key of the chunk that begins at `start`, as "0.2.1".
std::string chunk_key(const ChunkGrid& grid, std::span<const std::uint64_t> start);

}  // namespace forebay::dataset_tool
