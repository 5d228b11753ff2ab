// SPDX-License-Identifier: Apache-2.0
// IndexBuilder: collects the blocks of one step in one file, in any order, and encodes their index.
#pragma once

#include <map>

#include "format/attributes.hpp"
#include "format/index.hpp"
#include "format/records.hpp"

namespace forebay::format {

/// A field of an IndexBuilder.
enum class FieldNumber : std::uint32_t {};

/// A block that was written. Spans are copied.
struct NewBlock {
  std::uint64_t part = 0;                     ///< of a field of parts
  std::span<const std::uint64_t> start = {};  ///< in a global array
  std::span<const std::uint64_t> shape = {};  ///< of the part; the count in a global array
  std::uint64_t offset = 0;                   ///< in the file
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  Codec codec = Codec::kNone;
  std::uint64_t checksum = 0;
  std::span<const std::uint64_t> piece_checksums = {};  ///< of all pieces; may be empty if only one
  std::span<const std::uint64_t> piece_ends = {};       ///< with a codec and several pieces: of all
};

/// One thread at a time.
class IndexBuilder {
 public:
  IndexBuilder(const IndexId& id, const StepMetadata& metadata);

  /// Returns the number of the field, the same one for the same definition. kInvalidArgument if the
  /// field is not valid, or if a field of this name has another type, kind or shape.
  Result<FieldNumber> add_field(const FieldDefinition& field);

  /// kInvalidArgument if the block does not match its field (shape, start, bytes, pieces) or its
  /// offset is not a multiple of 8. An empty block of a global field is ignored. encode() detects
  /// duplicate parts.
  Status add_block(FieldNumber field, const NewBlock& block);

  /// Adds attributes that the index does not have yet. Fails as AttributeTable::set().
  Status add_attributes(const AttributeTable& attributes) {
    return attributes_.add_missing(attributes);
  }

  std::uint64_t blocks() const noexcept { return blocks_.size(); }
  std::uint64_t raw_bytes() const noexcept { return raw_bytes_; }
  std::uint64_t stored_bytes() const noexcept { return stored_bytes_; }
  /// Size of what encode() returns.
  std::uint64_t encoded_bytes() const noexcept;

  /// The index for this offset of the file, a multiple of kPageBytes behind all blocks. Attributes
  /// follow. Both are padded with zeros to a multiple of kPageBytes. kInvalidArgument, with field
  /// and part, if a part or start was added twice.
  Result<std::vector<std::byte>> encode(std::uint64_t offset) const;

  /// The step table's reference to an index that encode() returned.
  static Reference reference_of(std::span<const std::byte> encoded) noexcept;

 private:
  struct BlockEntry {
    std::uint32_t field;
    Codec codec;
    std::uint64_t key;
    std::uint64_t offset;
    std::uint64_t raw_bytes;
    std::uint64_t stored_bytes;
    std::uint64_t checksum;
    std::uint64_t first_word;  ///< in words_
    std::uint64_t first_dim;   ///< in dims_
  };
  Status check_block(const FieldDefinition& field, const NewBlock& block) const;
  std::uint64_t bytes() const noexcept;  ///< without padding

  friend class IndexEncoder;
  IndexId id_;
  StepMetadata metadata_;
  std::vector<FieldDefinition> fields_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::vector<BlockEntry> blocks_;
  AttributeTable attributes_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> dims_;
  std::uint64_t dims_total_ = 0;  ///< dims_ and the shapes of global arrays
  std::uint64_t names_bytes_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t stored_bytes_ = 0;
};

}  // namespace forebay::format
