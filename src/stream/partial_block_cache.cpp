// SPDX-License-Identifier: Apache-2.0
#include "stream/partial_block_cache.hpp"

#include <cstring>

#include "base/assert.hpp"

namespace forebay::stream {

PartialBlock::PartialBlock(std::uint64_t offset_bytes) : offset_bytes_(offset_bytes) {
  FOREBAY_ASSERT(offset_bytes % kBlockBytes == 0);
}

void PartialBlock::put(std::uint64_t offset_bytes, std::span<const std::byte> bytes) {
  FOREBAY_ASSERT(!is_in_flight());
  const ByteRange own{offset_bytes_, kBlockBytes};
  FOREBAY_ASSERT(own.contains({offset_bytes, bytes.size()}));
  if (bytes.empty()) return;
  const std::size_t first = offset_bytes - offset_bytes_;
  std::memcpy(memory_.get() + first, bytes.data(), bytes.size());
  std::bitset<kBlockBytes> arrived;
  arrived.set();
  arrived >>= kBlockBytes - bytes.size();
  valid_bytes_ |= arrived << first;
}

std::vector<ByteRange> PartialBlock::valid_ranges() const {
  std::vector<ByteRange> found;
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    if (!valid_bytes_[i]) continue;
    if (i == 0 || !valid_bytes_[i - 1]) found.push_back({offset_bytes_ + i, 0});
    ++found.back().size;
  }
  return found;
}

std::span<const std::byte> PartialBlock::range_bytes(ByteRange range) const {
  FOREBAY_ASSERT((ByteRange{offset_bytes_, kBlockBytes}.contains(range)));
  return {memory_.get() + (range.offset - offset_bytes_), range.size};
}

bool PartialBlockCache::is_in_flight(std::uint64_t offset_bytes) const {
  const auto found = blocks_.find(align_down_to_block(offset_bytes));
  return found != blocks_.end() && found->second.is_in_flight();
}

PartialBlock& PartialBlockCache::put(std::uint64_t offset_bytes, std::span<const std::byte> bytes) {
  const std::uint64_t block_offset = align_down_to_block(offset_bytes);
  PartialBlock& block = blocks_.try_emplace(block_offset, block_offset).first->second;
  block.put(offset_bytes, bytes);
  return block;
}

std::vector<PartialBlock*> PartialBlockCache::waiting_blocks() {
  std::vector<PartialBlock*> found;
  for (auto& [offset, block] : blocks_) {
    if (!block.is_in_flight()) found.push_back(&block);
  }
  return found;
}

}  // namespace forebay::stream
