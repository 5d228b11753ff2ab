// SPDX-License-Identifier: Apache-2.0
// The tables of docs/formats/dataset.md as structs without padding, copied unchanged between memory
// and files. For the encoders and decoders of this module. format_page_test.cpp compares them with
// the page.
#pragma once

#include <cstring>
#include <type_traits>

#include "format/records.hpp"

namespace forebay::format::layout {

/// Size of a number in a list of variable length.
inline constexpr std::uint64_t kWordBytes = sizeof(std::uint64_t);

/// Start of all headers, slots, indexes and history tables, in all versions.
struct CommonHeader {
  std::uint64_t magic = 0;
  std::uint16_t major = kMajorVersion;
  std::uint16_t minor = kMinorVersion;
  std::uint32_t header_bytes = 0;
  DatasetId dataset = {};
};

struct DataHeader {
  CommonHeader common = {kDataMagic, kMajorVersion, kMinorVersion, kPageBytes, {}};
  std::uint64_t group = 0;
  std::uint32_t file = 0;
  std::array<std::byte, 4044> reserved = {};
  std::uint64_t checksum = 0;
};

struct IndexHeader {
  CommonHeader common = {kIndexMagic, kMajorVersion, kMinorVersion, 160, {}};
  std::uint64_t step = 0;
  std::uint64_t group = 0;
  std::uint32_t file = 0;
  std::uint32_t fields = 0;
  std::uint64_t blocks = 0;
  std::uint64_t words = 0;
  std::uint64_t dims = 0;
  std::uint64_t names_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t wall_ns = 0;
  std::uint32_t writers = 0;
  std::uint32_t files = 0;
  std::uint16_t strategy = 0;
  std::array<std::byte, 6> reserved = {};
  std::uint64_t attributes_bytes = 0;
  std::uint64_t attributes_checksum = 0;
};

/// Followed by the shape, the value, the name of the field and the name.
struct Attribute {
  std::uint8_t scope = 0;
  std::uint8_t kind = 0;
  std::uint8_t type = 0;
  std::uint8_t dimensions = 0;
  std::uint16_t field_bytes = 0;
  std::uint16_t name_bytes = 0;
  std::uint64_t value_bytes = 0;
};

struct Field {
  std::uint64_t first_block = 0;
  std::uint64_t blocks = 0;
  std::uint64_t first_dim = 0;
  std::uint32_t name_offset = 0;
  std::uint16_t name_bytes = 0;
  std::uint8_t type = 0;
  std::uint8_t order = 0;
  std::uint8_t kind = 0;
  std::uint8_t dimensions = 0;
  std::array<std::byte, 14> reserved = {};
};

struct Block {
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t checksum = 0;
  /// Codec in the last byte, which is the most significant.
  std::uint64_t first_word_and_codec = 0;

  static constexpr unsigned kCodecShift = 56;
  constexpr std::uint64_t first_word() const noexcept {
    return first_word_and_codec & ((1ULL << kCodecShift) - 1);
  }
  constexpr std::uint8_t codec() const noexcept {
    return static_cast<std::uint8_t>(first_word_and_codec >> kCodecShift);
  }
};

struct CommitSlot {
  CommonHeader common = {kSlotMagic, kMajorVersion, kMinorVersion, kPageBytes, {}};
  std::uint64_t generation = 0;
  std::uint64_t first_step = 0;
  std::uint64_t steps = 0;
  Reference table = {};
  Reference history = {};
  std::uint64_t wall_ns = 0;
  std::array<std::byte, 16> reserved = {};
  std::array<std::byte, 3960> inline_table = {};
  std::uint64_t checksum = 0;
};

struct Step {
  std::uint64_t step = 0;
  std::uint64_t group = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint32_t writers = 0;
  std::uint32_t files = 0;
  std::uint16_t strategy = 0;
  std::array<std::byte, 6> reserved = {};
};

struct File {
  std::uint32_t file = 0;
  std::uint32_t reserved = 0;
  Reference index = {};
};

struct HistoryHeader {
  CommonHeader common = {kHistoryMagic, kMajorVersion, kMinorVersion, 96, {}};
  std::uint64_t generation = 0;
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;
  std::uint64_t steps = 0;
  Reference previous = {};
  std::uint64_t previous_last_step = 0;
};

static_assert(sizeof(CommonHeader) == 32);
static_assert(sizeof(DataHeader) == kPageBytes);
static_assert(sizeof(IndexHeader) == 160);
static_assert(sizeof(Attribute) == 16);
static_assert(sizeof(Field) == 48);
static_assert(sizeof(Block) == 48);
static_assert(sizeof(CommitSlot) == kPageBytes);
static_assert(sizeof(Step) == 56);
static_assert(sizeof(File) == 32);
static_assert(sizeof(HistoryHeader) == 96);

/// The record at offset `at` of `bytes`, which must contain it.
template <class Record>
Record load(std::span<const std::byte> bytes, std::uint64_t at = 0) noexcept {
  static_assert(std::is_trivially_copyable_v<Record>);
  Record record;
  std::memcpy(&record, bytes.data() + at, sizeof record);
  return record;
}

template <class Record>
void store(const Record& record, std::span<std::byte> bytes, std::uint64_t at = 0) noexcept {
  static_assert(std::has_unique_object_representations_v<Record>);
  std::memcpy(bytes.data() + at, &record, sizeof record);
}

/// All bytes of a page before its checksum.
inline std::span<const std::byte> checksummed_bytes(std::span<const std::byte> page) noexcept {
  return page.first(page.size() - sizeof(std::uint64_t));
}

}  // namespace forebay::format::layout
