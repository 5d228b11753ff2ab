// SPDX-License-Identifier: Apache-2.0
// Collects what one step has in one file, in any order, and makes the index of it.
#pragma once

#include <map>

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
  IndexBuilder(const IndexPlace& place, const StepFacts& facts);

  /// The number of the field; the same again if it is there already. kInvalidArgument if no field
  /// can be like that, or if there is another one of this name: another type, kind or shape.
  Result<FieldNumber> add_field(const FieldDefinition& field);

  /// kInvalidArgument if the block does not suit its field (shape, start, bytes, pieces) or its
  /// offset is not a multiple of 8. An empty block of a global field is passed over. A part that is
  /// there already is found by encode().
  Status add_block(FieldNumber field, const NewBlock& block);

  std::uint64_t blocks() const noexcept { return blocks_.size(); }
  std::uint64_t raw_bytes() const noexcept { return raw_bytes_; }
  std::uint64_t stored_bytes() const noexcept { return stored_bytes_; }
  /// What encode() will make, filled up to a multiple of kPageBytes.
  std::uint64_t encoded_bytes() const noexcept;

  /// The index for this offset of the file, a multiple of kPageBytes behind all blocks, filled up
  /// with zeros to a multiple of kPageBytes. kInvalidArgument if a part or start was added twice:
  /// names field and part.
  Result<std::vector<std::byte>> encode(std::uint64_t offset) const;

  /// What the step table will say of an index that encode() made.
  static Reference reference_of(std::span<const std::byte> encoded) noexcept;

 private:
  struct Held {
    std::uint32_t field;
    Codec codec;
    std::uint64_t key;
    std::uint64_t offset;
    std::uint64_t raw_bytes;
    std::uint64_t stored_bytes;
    std::uint64_t checksum;
    std::uint64_t first_word;    ///< in words_
    std::uint64_t first_number;  ///< in numbers_
  };
  Status check_block(const FieldDefinition& field, const NewBlock& block) const;
  std::uint64_t bytes() const noexcept;  ///< without filling

  friend class IndexEncoder;
  IndexPlace place_;
  StepFacts facts_;
  std::vector<FieldDefinition> fields_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::vector<Held> blocks_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> numbers_;
  std::uint64_t numbers_total_ = 0;  ///< numbers_ and the shapes of global arrays
  std::uint64_t names_bytes_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t stored_bytes_ = 0;
};

}  // namespace forebay::format
