// SPDX-License-Identifier: Apache-2.0
// The index of one step in one data file, read: checked once and completely, then looked into where
// it lies. Nothing is allocated for a block, so that a million of them cost their bytes and no
// more; of global arrays, a tree of bounds beside these.
#pragma once

#include <utility>

#include "format/box.hpp"
#include "format/box_tree.hpp"
#include "format/checksum.hpp"
#include "format/records.hpp"

namespace forebay::format {

/// A block as the index has it. Its spans point into the Index.
struct Block {
  std::uint64_t key = 0;  ///< the part; global: place of the first element in C order
  std::uint64_t offset = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t checksum = 0;
  Codec codec = Codec::kNone;
  std::span<const std::uint64_t> piece_checksums = {};  ///< empty if there is one piece, or none
  std::span<const std::uint64_t> piece_ends =
      {};  ///< from `offset`; with a codec and several pieces

  std::uint64_t pieces() const noexcept { return piece_count(raw_bytes); }
  /// Where a piece lies, from the start of the file.
  ByteRange stored_range(std::uint64_t piece) const noexcept;
  /// What a piece holds, from the start of the block.
  ByteRange raw_range(std::uint64_t piece) const noexcept;
};

/// True if these are the bytes of the piece. With one piece the block's checksum decides.
bool is_whole(BlockSeed seed,
              const Block& block,
              std::uint64_t piece,
              const PieceBytes& bytes) noexcept;

/// A field as one index has it: what it is, and where its blocks are in the index.
struct IndexField {
  FieldDefinition definition;
  std::uint64_t first_block = 0;
  std::uint64_t blocks = 0;
  std::uint64_t first_number = 0;
};

/// What the head of an index says, and how much of the file it takes.
struct IndexHead {
  IndexPlace place = {};
  StepFacts facts = {};
  std::uint64_t offset = 0;  ///< of the index, in the file
  std::uint64_t bytes = 0;   ///< of the index, without filling
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
};

/// The head alone, from the first page of an index: magic, version and plausible sizes are checked,
/// the checksum is not. For those who must know how much to read.
Result<IndexHead> decode_index_head(std::span<const std::byte> page, const std::string& path);

/// Immutable; any thread. Fields and blocks are given by number: 0 ... count - 1.
class Index {
 public:
  /// Checks everything that the page promises. `bytes` begins with the index, which was read at
  /// `offset`; what is behind its end is not looked at. `path` is for Errors (kDamage, kShortFile,
  /// kUnsupported), whose offset is that of the wrong bytes in the file.
  static Result<Index> decode(std::span<const std::byte> bytes,
                              std::uint64_t offset,
                              const std::string& path);

  const IndexHead& head() const noexcept { return head_; }
  /// As the step table has it.
  Reference reference() const noexcept;
  std::span<const IndexField> fields() const noexcept { return fields_; }
  std::uint64_t blocks() const noexcept { return blocks_; }

  /// No value if the file has nothing of it.
  std::optional<std::uint32_t> find_field(std::string_view name) const noexcept;
  /// `number` counts the blocks of this field.
  Block block(std::uint32_t field, std::uint64_t number) const noexcept;
  /// The number of the part's block.
  std::optional<std::uint64_t> find_part(std::uint32_t field, std::uint64_t part) const noexcept;
  /// The blocks of a global field that share an element with `box`, by BoxTree: it takes time for
  /// those, and not for all.
  std::vector<std::uint64_t> intersecting(std::uint32_t field, const Box& box) const;

  /// The shape of a part, or the count of a global block.
  Place shape(std::uint32_t field, std::uint64_t number) const;
  /// Start and count of a global block.
  Box box(std::uint32_t field, std::uint64_t number) const;
  /// For the checksums of the block's pieces.
  BlockSeed seed(std::uint32_t field, std::uint64_t number) const;

 private:
  friend class IndexDecoder;
  Index() = default;
  std::uint64_t key_of(const IndexField& field, std::uint64_t number) const noexcept;

  IndexHead head_;
  std::vector<std::uint64_t> words_;  ///< the whole index
  std::vector<IndexField> fields_;
  std::vector<FieldSeed> seeds_;
  std::vector<BoxTree> trees_;  ///< of each field; of parts empty
  std::uint64_t blocks_ = 0;
  std::uint64_t blocks_at_ = 0;  ///< index in words_, as the next two
  std::uint64_t pieces_at_ = 0;
  std::uint64_t numbers_at_ = 0;
};

}  // namespace forebay::format
