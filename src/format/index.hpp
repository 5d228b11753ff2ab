// SPDX-License-Identifier: Apache-2.0
// Index: the decoded index of one step in one data file. It is checked once and completely, then
// read in place. No memory is allocated per block, so a million blocks take only their bytes.
// Global arrays also have a tree of bounds.
#pragma once

#include <utility>

#include "format/box.hpp"
#include "format/box_tree.hpp"
#include "format/checksum.hpp"
#include "format/records.hpp"

namespace forebay::format {

/// A block of the index. Its spans point into the Index.
struct Block {
  std::uint64_t key = 0;  ///< parts: the part; global: number of the first element in C order
  std::uint64_t offset = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t checksum = 0;
  Codec codec = Codec::kNone;
  std::span<const std::uint64_t> piece_checksums = {};  ///< empty if there is one piece, or none
  /// From `offset`; with a codec and several pieces.
  std::span<const std::uint64_t> piece_ends = {};

  std::uint64_t pieces() const noexcept { return piece_count(raw_bytes); }
  /// Bytes of a piece in the file.
  ByteRange stored_range(std::uint64_t piece) const noexcept;
  /// Raw bytes of a piece in the block.
  ByteRange raw_range(std::uint64_t piece) const noexcept;
};

/// True if these are the bytes of the piece. If the block has one piece, the block's checksum
/// decides.
bool is_valid_piece(BlockSeed seed,
                    const Block& block,
                    std::uint64_t piece,
                    const PieceBytes& bytes) noexcept;

/// A field in one index: its definition, and its blocks in the index.
struct IndexField {
  FieldDefinition definition;
  std::uint64_t first_block = 0;
  std::uint64_t blocks = 0;
  std::uint64_t first_dim = 0;
};

/// Content of an index's header, and the place of the index in the file.
struct IndexHeader {
  IndexId id = {};
  StepMetadata metadata = {};
  std::uint64_t offset = 0;  ///< of the index, in the file
  std::uint64_t bytes = 0;   ///< of the index, without padding
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  Reference attributes = {};  ///< place of the attributes in the file; no bytes if there are none
};

/// Decodes only the header, from the first page of an index. Checks magic, version and plausible
/// sizes, but not the checksum. For callers that need the size of the index before reading it.
Result<IndexHeader> decode_index_header(std::span<const std::byte> page, const std::string& path);

/// Immutable; any thread. Fields and blocks are identified by number: 0 ... count - 1.
class Index {
 public:
  /// Checks all rules of the format. `bytes` begins with the index, which was read at `offset`;
  /// bytes after its end are ignored. `path` is for Errors (kDamage, kShortFile, kUnsupported),
  /// whose offset is that of the wrong bytes in the file.
  static Result<Index> decode(std::span<const std::byte> bytes,
                              std::uint64_t offset,
                              const std::string& path);

  const IndexHeader& header() const noexcept { return header_; }
  /// As in the step table.
  Reference reference() const noexcept;
  std::span<const IndexField> fields() const noexcept { return fields_; }
  std::uint64_t blocks() const noexcept { return blocks_; }

  /// No value if the index has no such field.
  std::optional<std::uint32_t> find_field(std::string_view name) const noexcept;
  /// `number` counts the blocks of this field.
  Block block(std::uint32_t field, std::uint64_t number) const noexcept;
  /// The number of the part's block.
  std::optional<std::uint64_t> find_part(std::uint32_t field, std::uint64_t part) const noexcept;
  /// The blocks of a global field that share an element with `box`. Found by BoxTree, so the time
  /// depends on these blocks, not on all.
  std::vector<std::uint64_t> find_blocks(std::uint32_t field, const Box& box) const;

  /// The shape of a part, or the count of a global block.
  Coordinates shape(std::uint32_t field, std::uint64_t number) const;
  /// Start and count of a global block.
  Box box(std::uint32_t field, std::uint64_t number) const;
  /// Seed of the checksums of the block's pieces.
  BlockSeed seed(std::uint32_t field, std::uint64_t number) const;

 private:
  friend class IndexDecoder;
  Index() = default;
  std::uint64_t key_of(const IndexField& field, std::uint64_t number) const noexcept;

  IndexHeader header_;
  std::vector<std::uint64_t> words_;  ///< the whole index
  std::vector<IndexField> fields_;
  std::vector<FieldSeed> seeds_;
  std::vector<BoxTree> trees_;  ///< of each field; empty for parts
  std::uint64_t blocks_ = 0;
  std::uint64_t blocks_offset_ = 0;  ///< index in words_, as the next two
  std::uint64_t pieces_offset_ = 0;
  std::uint64_t dims_offset_ = 0;
};

}  // namespace forebay::format
