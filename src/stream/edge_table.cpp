// SPDX-License-Identifier: Apache-2.0
#include "stream/edge_table.hpp"

#include <cstring>

#include "base/assert.hpp"

namespace forebay::stream {

EdgeBlock::EdgeBlock(std::uint64_t offset_bytes) : offset_bytes_(offset_bytes) {
  FOREBAY_ASSERT(offset_bytes % kBlockBytes == 0);
}

void EdgeBlock::put(std::uint64_t offset_bytes, std::span<const std::byte> bytes) {
  FOREBAY_ASSERT(!is_under_way());
  const ByteRange own{offset_bytes_, kBlockBytes};
  FOREBAY_ASSERT(own.contains({offset_bytes, bytes.size()}));
  if (bytes.empty()) return;
  const std::size_t first = offset_bytes - offset_bytes_;
  std::memcpy(memory_.get() + first, bytes.data(), bytes.size());
  std::bitset<kBlockBytes> came;
  came.set();
  came >>= kBlockBytes - bytes.size();
  present_ |= came << first;
}

std::vector<ByteRange> EdgeBlock::parts() const {
  std::vector<ByteRange> found;
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    if (!present_[i]) continue;
    if (i == 0 || !present_[i - 1]) found.push_back({offset_bytes_ + i, 0});
    ++found.back().size;
  }
  return found;
}

std::span<const std::byte> EdgeBlock::part(ByteRange range) const {
  FOREBAY_ASSERT((ByteRange{offset_bytes_, kBlockBytes}.contains(range)));
  return {memory_.get() + (range.offset - offset_bytes_), range.size};
}

bool EdgeTable::is_under_way(std::uint64_t offset_bytes) const {
  const auto found = blocks_.find(block_down(offset_bytes));
  return found != blocks_.end() && found->second.is_under_way();
}

EdgeBlock& EdgeTable::put(std::uint64_t offset_bytes, std::span<const std::byte> bytes) {
  const std::uint64_t block_offset = block_down(offset_bytes);
  EdgeBlock& block = blocks_.try_emplace(block_offset, block_offset).first->second;
  block.put(offset_bytes, bytes);
  return block;
}

std::vector<EdgeBlock*> EdgeTable::waiting() {
  std::vector<EdgeBlock*> found;
  for (auto& [offset, block] : blocks_) {
    if (!block.is_under_way()) found.push_back(&block);
  }
  return found;
}

}  // namespace forebay::stream
