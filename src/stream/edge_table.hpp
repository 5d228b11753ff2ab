// SPDX-License-Identifier: Apache-2.0
// The blocks of a file of which only parts have come so far. Parts wait here until their neighbours
// arrive and the block can be written whole; what is left at the end is completed by reading the
// block first. It exists because direct writing moves nothing less than a block.
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
  /// Where the file's own block may be read to; suits direct access.
  std::span<std::byte> memory_for_reading();
  /// Fills what has not come with what the file has there: `found` is its block, shorter at the end
  /// of the file, beyond which there are zeros.
  void complete(std::span<const std::byte> found);

  /// Between begin_writing() and the end of the block nothing may be put into it.
  bool is_under_way() const noexcept { return under_way_; }
  void begin_writing() noexcept { under_way_ = true; }

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
  std::unique_ptr<std::byte[], Free> read_memory_;
  std::bitset<kBlockBytes> present_;
  bool under_way_ = false;
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
