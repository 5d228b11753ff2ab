// SPDX-License-Identifier: Apache-2.0
// What a request wants, block by block, in the order in which the blocks lie in files. What a user
// asks for (parts, ranges, regions) ends here; what is read where begins here.
#pragma once

#include <memory>
#include <vector>

#include "format/catalog.hpp"
#include "restore/box_copy.hpp"

namespace forebay::restore {

inline constexpr std::uint32_t kNoBox = UINT32_MAX;

/// Bytes of one block.
struct BlockWant {
  format::BlockPlace place = {};
  std::uint64_t offset = 0;    ///< of the block, in its file
  ByteRange raw = {};          ///< which of its bytes; of a box, its hull
  std::uint64_t into = 0;      ///< where the first of them goes; of a box, nothing
  std::uint32_t box = kNoBox;  ///< in WantList::boxes
};

/// All of a request.
struct WantList {
  std::shared_ptr<const format::StepCatalog> step = {};
  std::vector<BlockWant> wants = {};  ///< sorted by file and offset
  std::vector<BoxCopy> boxes = {};
  std::uint64_t bytes = 0;       ///< of the answer
  std::uint32_t swap_bytes = 0;  ///< numbers of so many bytes are to be turned round; 0: none
};

/// Puts the wants in the order in which they are read.
void sort(WantList& list);

}  // namespace forebay::restore
