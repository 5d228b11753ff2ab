// SPDX-License-Identifier: Apache-2.0
// BlockRequestList: a request as a list of blocks, in file order. Parts, ranges and selections of
// the user are converted to it, and loads are made from it.
#pragma once

#include <memory>
#include <vector>

#include "format/box_copy.hpp"
#include "format/catalog.hpp"

namespace forebay::restore {

inline constexpr std::uint32_t kNoBox = UINT32_MAX;

/// A request for bytes of one block.
struct BlockRequest {
  format::BlockLocation location = {};
  std::uint64_t offset = 0;         ///< of the block in its file
  ByteRange raw = {};               ///< requested bytes of the block; for a box, its hull
  std::uint64_t memory_offset = 0;  ///< destination of the first of them; unused for a box
  std::uint32_t box = kNoBox;       ///< index in BlockRequestList::boxes
};

/// A complete request.
struct BlockRequestList {
  std::shared_ptr<const format::StepCatalog> step = {};
  std::vector<BlockRequest> requests = {};  ///< sorted by file and offset
  std::vector<format::BoxCopy> boxes = {};
  std::uint64_t bytes = 0;            ///< of the result
  std::uint32_t swap_unit_bytes = 0;  ///< size of the numbers whose byte order is swapped; 0: none
};

/// Sorts the requests in the order in which they are read.
void sort(BlockRequestList& list);

}  // namespace forebay::restore
