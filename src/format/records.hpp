// SPDX-License-Identifier: Apache-2.0
// The words of the dataset format (docs/formats/dataset.md): its constants, names of files, and the
// plain values that the other files of this module encode, decode and look up.
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
inline constexpr std::uint64_t kTableBytesMax = 1_MiB;          ///< unless it has one step
inline constexpr std::uint64_t kTableBytesLimit = 1ULL << 30U;  ///< what a reader takes

/// Eight letters as the number that lies in a file.
constexpr std::uint64_t magic_of(std::string_view letters) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = 8; i-- > 0;)
    number = number << 8U | static_cast<std::uint8_t>(letters[i]);
  return number;
}
inline constexpr std::uint64_t kDataMagic = magic_of("FbyData_");
inline constexpr std::uint64_t kIndexMagic = magic_of("FbyIndex");
inline constexpr std::uint64_t kSlotMagic = magic_of("FbySlot_");
inline constexpr std::uint64_t kTableMagic = magic_of("FbyTable");  ///< of a seed only
inline constexpr std::uint64_t kPastMagic = magic_of("FbyPast_");

inline constexpr std::string_view kCommitsName = "commits";
inline constexpr std::string_view kOwnerName = "owner";

/// Random, the same in all files of a dataset.
using DatasetId = std::array<std::byte, 16>;

/// 32 hexadecimal digits, as printed.
std::string text_of(const DatasetId& id);
/// From the system's source of randomness.
Result<DatasetId> random_dataset_id();

/// Which data file.
struct DataFileName {
  std::uint64_t group = 0;
  std::uint32_t file = 0;

  friend auto operator<=>(const DataFileName&, const DataFileName&) = default;
};

/// "data-000012.00003"
std::string text_of(const DataFileName& name);
/// No value if it is not the name of a data file, exactly as text_of() makes it.
std::optional<DataFileName> data_file_named(std::string_view name) noexcept;

enum class FieldKind : std::uint8_t {
  kParts = 0,   ///< numbered parts, each with a shape of its own
  kGlobal = 1,  ///< one array in C order, of which blocks are stored
};

enum class Codec : std::uint8_t { kNone = 0, kZstd = 1 };

std::string_view name_of(FieldKind kind) noexcept;
std::string_view name_of(Codec codec) noexcept;

/// What all blocks of a field have in common.
struct FieldDefinition {
  std::string name = {};
  ElementType type = ElementType::kBytes;
  ByteOrder order = ByteOrder::kLittle;
  FieldKind kind = FieldKind::kParts;
  std::uint32_t dimensions = 1;
  std::vector<std::uint64_t> shape = {};  ///< of the global array; empty for parts

  friend bool operator==(const FieldDefinition&, const FieldDefinition&) = default;
};

/// Bytes of an array of this shape; no value if they are more than kArrayBytesMax.
std::optional<std::uint64_t> array_bytes(ElementType type,
                                         std::span<const std::uint64_t> shape) noexcept;

/// Whether these bytes are UTF-8, as JSON is.
bool is_utf8(std::string_view text) noexcept;

/// 1 to kNameBytesMax bytes of UTF-8 without control characters.
bool is_field_name(std::string_view name) noexcept;

/// kInvalidArgument if no index may have this field: what is wrong with name, dimensions or shape.
Status check_field(const FieldDefinition& field);

/// Whose index it is.
struct IndexPlace {
  DatasetId dataset = {};
  std::uint64_t step = 0;
  std::uint64_t group = 0;
  std::uint32_t file = 0;

  friend bool operator==(const IndexPlace&, const IndexPlace&) = default;
};

/// What the step table and each index of a step say of the step.
struct StepFacts {
  std::uint64_t wall_ns = 0;  ///< since 1970
  std::uint32_t writers = 0;
  std::uint32_t files = 1;  ///< how many have an index of this step
  std::uint16_t strategy = 0;

  friend bool operator==(const StepFacts&, const StepFacts&) = default;
};

/// Bytes somewhere in a file, and what they must add up to.
struct Reference {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;

  friend bool operator==(const Reference&, const Reference&) = default;
};

/// A file of a step, as the step table knows it.
struct FileEntry {
  std::uint32_t file = 0;
  Reference index = {};

  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

/// A step, as the step table knows it.
struct StepEntry {
  std::uint64_t step = 0;
  std::uint64_t group = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint32_t writers = 0;
  std::uint16_t strategy = 0;
  std::vector<FileEntry> files = {};  ///< by rising numbers

  friend bool operator==(const StepEntry&, const StepEntry&) = default;
};

/// `bytes` up to the next multiple of `alignment`, a power of two.
constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  return (bytes + alignment - 1) & ~(alignment - 1);
}

/// How many pieces a block of so many raw bytes has; none if it is empty.
constexpr std::uint64_t piece_count(std::uint64_t raw_bytes) noexcept {
  return raw_bytes / kPieceBytes + (raw_bytes % kPieceBytes != 0 ? 1 : 0);
}

}  // namespace forebay::format
