// SPDX-License-Identifier: Apache-2.0
// The blocks of a file of which only parts have arrived. Parts wait here until their neighbors
// arrive and the block can be written whole. What is left at a barrier is written byte for byte,
// through the page cache: the other bytes of the block may belong to another process. It exists
// because direct writing moves nothing less than a block.
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

#include "stream/cut.hpp"

namespace forebay::stream {

/// One block, at most partly filled.
class EdgeBlock {
 public:
  explicit EdgeBlock(std::uint64_t offset_bytes);

  /// Where it lies in the file.
  std::uint64_t offset_bytes() const noexcept { return offset_bytes_; }
  /// The block, at an address that suits direct access.
  std::span<std::byte> memory() noexcept { return {memory_.get(), kBlockBytes}; }
  bool is_full() const noexcept { return present_.all(); }

  /// Takes bytes that lie in the block.
  void put(std::uint64_t offset_bytes, std::span<const std::byte> bytes);
  /// The ranges of the file that have arrived, in order; they do not touch.
  std::vector<ByteRange> parts() const;
  /// The bytes of one of them.
  std::span<const std::byte> part(ByteRange range) const;

  /// Starts writing the block in this many transfers. Until the last one ends, nothing may be put
  /// into the block.
  void begin_writing(std::size_t transfers) noexcept { transfers_left_ = transfers; }
  bool is_under_way() const noexcept { return transfers_left_ > 0; }
  /// One of them has ended. True for the last one.
  bool end_transfer() noexcept { return --transfers_left_ == 0; }

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
  std::bitset<kBlockBytes> present_;
  std::size_t transfers_left_ = 0;
};

/// Those of one file. Its owner has one thread.
class EdgeTable {
 public:
  /// True while the block with this byte is being written: bytes of it must wait.
  bool is_under_way(std::uint64_t offset_bytes) const;

  /// Takes bytes of one block, which is not under way; returns it. Copies them.
  EdgeBlock& put(std::uint64_t offset_bytes, std::span<const std::byte> bytes);

  /// Those that are not under way, in the order of the file.
  std::vector<EdgeBlock*> waiting();
  std::size_t size() const noexcept { return blocks_.size(); }

  /// Its bytes are where they belong, or are not to be written any more.
  void erase(const EdgeBlock& block) { blocks_.erase(block.offset_bytes()); }

 private:
  std::map<std::uint64_t, EdgeBlock> blocks_;
};

}  // namespace forebay::stream
