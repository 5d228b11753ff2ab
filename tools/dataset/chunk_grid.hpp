// SPDX-License-Identifier: Apache-2.0
// Whether blocks of an array form a regular grid, as chunks of Zarr must. A pure function of boxes,
// so that it is tested without files.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/index.hpp"

namespace forebay::dataset_tool {

/// Chunks of one size that cover an array. The last ones along dimension 0 may be longer than what
/// is there of them; those of other dimensions fit.
struct ChunkGrid {
  format::Place chunk = {};  ///< elements along each dimension
  format::Place count = {};  ///< chunks along each dimension
};

/// Whether a block may be several chunks, one after another along dimension 0: as it lies in the
/// file, which a codec prevents.
enum class Cutting : std::uint8_t { kNever, kAlongRows };

/// Upper limit of references of one array; they take about 100 bytes each.
inline constexpr std::uint64_t kChunksMax = 1'000'000;

/// Blocks that are cut become chunks of as many rows as the greatest common divisor of where they
/// begin and of the array allows. kUnsupported, with what is in the way, if the boxes are no such
/// grid: another size, a place between two chunks, one that is missing or there twice.
Result<ChunkGrid> find_grid(std::span<const std::uint64_t> shape,
                            std::span<const format::Box> boxes,
                            Cutting cutting = Cutting::kNever);

/// "0.2.1", the chunk that begins at `start`.
std::string chunk_key(const ChunkGrid& grid, std::span<const std::uint64_t> start);

}  // namespace forebay::dataset_tool
