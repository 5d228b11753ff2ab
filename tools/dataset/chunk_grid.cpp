// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/chunk_grid.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace forebay::dataset_tool {
namespace {

using format::Box;
using format::Coordinates;

tl::unexpected<Error> unsupported(const std::string& cause) {
  return failure({.kind = ErrorClass::kUnsupported, .operation = "lay out chunks", .cause = cause});
}

std::string text_of(std::span<const std::uint64_t> place) {
  std::string text = "(";
  for (const std::uint64_t number : place)
    text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + ")";
}

/// Number of elements of a chunk at `start` that are inside the array, along one dimension.
std::uint64_t extent_in_array(std::uint64_t start, std::uint64_t chunk, std::uint64_t shape) {
  return std::min(chunk, shape - start);
}

Status check_box(const ChunkGrid& grid,
                 std::span<const std::uint64_t> shape,
                 const Box& box,
                 SplitMode split_mode) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::uint64_t size =
        d == 0 ? extent_in_array(box.start[d], grid.chunk[d], shape[d]) : grid.chunk[d];
    const bool is_split =
        d == 0 && split_mode == SplitMode::kByRows && box.count[0] % grid.chunk[0] == 0;
    if (box.start[d] % grid.chunk[d] == 0 && (box.count[d] == size || is_split)) continue;
    return unsupported("the block at " + text_of(box.start) + " has " + text_of(box.count) +
                       " elements, the first one " + text_of(grid.chunk));
  }
  return {};
}

/// The largest number of rows into which all blocks can be split.
std::uint64_t common_rows(std::uint64_t rows, std::span<const Box> boxes) {
  for (const Box& box : boxes)
    rows = std::gcd(rows, box.start[0]);
  return rows;
}

Result<ChunkGrid> grid_of(std::span<const std::uint64_t> shape,
                          std::span<const Box> boxes,
                          Coordinates chunk,
                          SplitMode split_mode) {
  ChunkGrid grid = {.chunk = std::move(chunk)};
  std::uint64_t chunks = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    grid.count.push_back((shape[d] + grid.chunk[d] - 1) / grid.chunk[d]);
    chunks *= grid.count.back();
  }
  if (chunks > kChunksMax)
    return unsupported("the array would have more than " + std::to_string(kChunksMax) + " chunks");
  std::set<Coordinates> starts;
  for (const Box& box : boxes) {
    if (const Status fits = check_box(grid, shape, box, split_mode); !fits)
      return tl::unexpected(fits.error());
    Coordinates start = box.start;
    for (; start[0] < box.start[0] + box.count[0]; start[0] += grid.chunk[0])
      if (!starts.insert(start).second)
        return unsupported("the block at " + text_of(box.start) + " occurs twice");
  }
  if (starts.size() == chunks) return grid;
  return unsupported(std::to_string(chunks - starts.size()) + " of " + std::to_string(chunks) +
                     " blocks are missing");
}

}  // namespace

Result<ChunkGrid> find_grid(std::span<const std::uint64_t> shape,
                            std::span<const Box> boxes,
                            SplitMode split_mode) {
  const auto first = std::ranges::find(boxes, Coordinates(shape.size(), 0), &Box::start);
  if (first == boxes.end()) return unsupported("no block has the first element");
  auto whole = grid_of(shape, boxes, first->count, SplitMode::kNone);
  if (whole || split_mode == SplitMode::kNone) return whole;
  Coordinates chunk = first->count;
  chunk[0] = common_rows(shape[0], boxes);
  auto split_grid = grid_of(shape, boxes, std::move(chunk), split_mode);
  return split_grid ? split_grid : whole;
}

std::string chunk_key(const ChunkGrid& grid, std::span<const std::uint64_t> start) {
  std::string key;
  for (std::size_t d = 0; d < start.size(); ++d)
    key += (d > 0 ? "." : "") + std::to_string(start[d] / grid.chunk[d]);
  return key;
}

}  // namespace forebay::dataset_tool
