// SPDX-License-Identifier: Apache-2.0
// PartialBlockCache: blocks of a file of which only parts have arrived. Parts wait here until their
// neighbors arrive and the block can be written whole. A barrier writes exactly the parts that
// have arrived, through the page cache: other bytes of the block may belong to another process. It
// is needed because direct writing moves only whole blocks.
#pragma once

#include <forebay/range.hpp>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "stream/block_split.hpp"

namespace forebay::stream {

/// One block, at most partly filled.
class PartialBlock {
 public:
  explicit PartialBlock(std::uint64_t offset_bytes);

  /// Its offset in the file.
  std::uint64_t offset_bytes() const noexcept { return offset_bytes_; }
  /// The memory of the block, aligned for direct access.
  std::span<std::byte> memory() noexcept { return {memory_.get(), kBlockBytes}; }
  bool is_full() const noexcept { return valid_bytes_.all(); }

  /// Copies bytes that lie in the block.
  void put(std::uint64_t offset_bytes, std::span<const std::byte> bytes);
  /// The ranges of the file that have arrived, in order; they do not touch.
  std::vector<ByteRange> valid_ranges() const;
  /// The bytes of one of them.
  std::span<const std::byte> range_bytes(ByteRange range) const;

  /// Starts writing the block in this many transfers. Until the last one ends, no bytes may be put
  /// into the block.
  void start_write(std::size_t transfers) noexcept { transfers_left_ = transfers; }
  bool is_in_flight() const noexcept { return transfers_left_ > 0; }
  /// One of the transfers has ended. True for the last one.
  bool finish_transfer() noexcept { return --transfers_left_ == 0; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept {
      ::operator delete[](memory, std::align_val_t{kBlockBytes});
    }
  };
  static std::byte* allocate() {
    return static_cast<std::byte*>(::operator new[](kBlockBytes, std::align_val_t{kBlockBytes}));
  }

  std::uint64_t offset_bytes_;
  std::unique_ptr<std::byte[], Free> memory_{allocate()};
  std::bitset<kBlockBytes> valid_bytes_;
  std::size_t transfers_left_ = 0;
};

/// The partial blocks of one file. Its owner has one thread.
class PartialBlockCache {
 public:
  /// True while the block with this byte is being written: bytes of it must wait.
  bool is_in_flight(std::uint64_t offset_bytes) const;

  /// Copies bytes into their block, which must not be in flight; returns the block.
  PartialBlock& put(std::uint64_t offset_bytes, std::span<const std::byte> bytes);

  /// Blocks that are not in flight, in the order of the file.
  std::vector<PartialBlock*> waiting_blocks();
  std::size_t size() const noexcept { return blocks_.size(); }

  /// The bytes of the block are written, or will not be written any more.
  void erase(const PartialBlock& block) { blocks_.erase(block.offset_bytes()); }

 private:
  std::map<std::uint64_t, PartialBlock> blocks_;
};

}  // namespace forebay::stream
