// SPDX-License-Identifier: Apache-2.0
// Terms of the dataset format (docs/formats/dataset.md): constants, names of files, and the plain
// values that the other files of this module encode, decode and look up.
#pragma once

#include <forebay/element_type.hpp>
#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::format {

static_assert(std::endian::native == std::endian::little,
              "records are copied between memory and files as they are");

inline constexpr std::uint16_t kMajorVersion = 1;
inline constexpr std::uint16_t kMinorVersion = 0;
/// Of an index with attributes.
inline constexpr std::uint16_t kAttributesMinorVersion = 1;

/// Headers, slots, indexes and writers' regions begin at multiples of it.
inline constexpr std::uint64_t kPageBytes = 4096;
/// Blocks begin at multiples of it.
inline constexpr std::uint64_t kBlockAlignmentBytes = 8;
/// Raw bytes of a piece; only the last one of a block has fewer.
inline constexpr std::uint64_t kPieceBytes = 1_MiB;

inline constexpr std::size_t kNameBytesMax = 255;
inline constexpr std::size_t kDimensionsMax = 8;
inline constexpr std::uint32_t kFieldsMax = 65'536;
inline constexpr std::uint32_t kFilesMax = 1U << 20U;
inline constexpr std::uint64_t kIndexBytesMax = 1ULL << 40U;
inline constexpr std::uint64_t kArrayBytesMax = (1ULL << 63U) - 1;

inline constexpr std::size_t kTableStepsMax = 256;
inline constexpr std::uint64_t kTableBytesMax = 1_MiB;            ///< unless it has one step
inline constexpr std::uint64_t kTableBytesReadMax = 1ULL << 30U;  ///< limit of a reader

/// Eight characters as the number that is stored in a file.
constexpr std::uint64_t make_magic(std::string_view letters) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = 8; i-- > 0;)
    number = number << 8U | static_cast<std::uint8_t>(letters[i]);
  return number;
}
inline constexpr std::uint64_t kDataMagic = make_magic("FbyData_");
inline constexpr std::uint64_t kIndexMagic = make_magic("FbyIndex");
inline constexpr std::uint64_t kSlotMagic = make_magic("FbySlot_");
inline constexpr std::uint64_t kTableMagic = make_magic("FbyTable");  ///< used only in a seed
inline constexpr std::uint64_t kHistoryMagic = make_magic("FbyPast_");
inline constexpr std::uint64_t kAttributesMagic = make_magic("FbyAttrs");  ///< only in a seed

inline constexpr std::string_view kCommitsName = "commits";
inline constexpr std::string_view kOwnerName = "owner";

/// Random; the same in all files of a dataset.
using DatasetId = std::array<std::byte, 16>;

/// 32 hexadecimal digits, as printed.
std::string to_string(const DatasetId& id);
/// From the system's source of randomness.
Result<DatasetId> generate_dataset_id();

/// Identifies a data file of a dataset.
struct DataFileName {
  std::uint64_t group = 0;
  std::uint32_t file = 0;

  friend auto operator<=>(const DataFileName&, const DataFileName&) = default;
};

/// "data-000012.00003"
std::string to_string(const DataFileName& name);
/// No value unless it is the name of a data file, exactly as to_string() returns it.
std::optional<DataFileName> parse_data_file_name(std::string_view name) noexcept;

enum class FieldKind : std::uint8_t {
  kParts = 0,   ///< numbered parts, each with its own shape
  kGlobal = 1,  ///< one array in C order, stored in blocks
};

enum class Codec : std::uint8_t { kNone = 0, kZstd = 1 };

std::string_view name_of(FieldKind kind) noexcept;
std::string_view name_of(Codec codec) noexcept;

/// Common properties of all blocks of a field.
struct FieldDefinition {
  std::string name = {};
  ElementType type = ElementType::kBytes;
  ByteOrder order = ByteOrder::kLittle;
  FieldKind kind = FieldKind::kParts;
  std::uint32_t dimensions = 1;
  std::vector<std::uint64_t> shape = {};  ///< of the global array; empty for parts

  friend bool operator==(const FieldDefinition&, const FieldDefinition&) = default;
};

/// Bytes of an array of this shape; no value above kArrayBytesMax.
std::optional<std::uint64_t> array_bytes(ElementType type,
                                         std::span<const std::uint64_t> shape) noexcept;

/// 1 to kNameBytesMax bytes of UTF-8 without control characters.
bool is_field_name(std::string_view name) noexcept;

/// kInvalidArgument, with the invalid name, dimensions or shape, if no index may have this field.
Status check_field(const FieldDefinition& field);

/// Identifies an index.
struct IndexId {
  DatasetId dataset = {};
  std::uint64_t step = 0;
  std::uint64_t group = 0;
  std::uint32_t file = 0;

  friend bool operator==(const IndexId&, const IndexId&) = default;
};

/// Metadata of a step, in the step table and in each index of the step.
struct StepMetadata {
  std::uint64_t wall_ns = 0;  ///< since 1970
  std::uint32_t writers = 0;
  std::uint32_t files = 1;  ///< number of files with an index of this step
  std::uint16_t strategy = 0;

  friend bool operator==(const StepMetadata&, const StepMetadata&) = default;
};

/// Bytes in a file, and their expected checksum.
struct Reference {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;

  friend bool operator==(const Reference&, const Reference&) = default;
};

/// A file of a step, as in the step table.
struct FileEntry {
  std::uint32_t file = 0;
  Reference index = {};

  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

/// A step, as in the step table.
struct StepEntry {
  std::uint64_t step = 0;
  std::uint64_t group = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint32_t writers = 0;
  std::uint16_t strategy = 0;
  std::vector<FileEntry> files = {};  ///< by ascending numbers

  friend bool operator==(const StepEntry&, const StepEntry&) = default;
};

/// `bytes` rounded up to a multiple of `alignment`, a power of two.
constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  return (bytes + alignment - 1) & ~(alignment - 1);
}

/// Number of pieces of a block with this number of raw bytes; 0 for an empty block.
constexpr std::uint64_t piece_count(std::uint64_t raw_bytes) noexcept {
  return raw_bytes / kPieceBytes + (raw_bytes % kPieceBytes != 0 ? 1 : 0);
}

}  // namespace forebay::format
