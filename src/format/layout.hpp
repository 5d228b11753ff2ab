// SPDX-License-Identifier: Apache-2.0
// The tables of docs/formats/dataset.md as structs without gaps, copied between memory and files as
// they are. For the encoders and decoders of this module; page_test.cpp holds them against the
// page.
#pragma once

#include <cstring>
#include <type_traits>

#include "format/records.hpp"

namespace forebay::format::layout {

/// Of the numbers in lists of varying length.
inline constexpr std::uint64_t kWordBytes = sizeof(std::uint64_t);

/// What all headers, slots, indexes and past blocks begin with, in all versions.
struct Start {
  std::uint64_t magic = 0;
  std::uint16_t major = kMajorVersion;
  std::uint16_t minor = kMinorVersion;
  std::uint32_t head_bytes = 0;
  DatasetId dataset = {};
};

struct DataHeader {
  Start start = {kDataMagic, kMajorVersion, kMinorVersion, kPageBytes, {}};
  std::uint64_t group = 0;
  std::uint32_t file = 0;
  std::array<std::byte, 4044> zero = {};
  std::uint64_t checksum = 0;
};

struct IndexHead {
  Start start = {kIndexMagic, kMajorVersion, kMinorVersion, 160, {}};
  std::uint64_t step = 0;
  std::uint64_t group = 0;
  std::uint32_t file = 0;
  std::uint32_t fields = 0;
  std::uint64_t blocks = 0;
  std::uint64_t words = 0;
  std::uint64_t numbers = 0;
  std::uint64_t names_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t wall_ns = 0;
  std::uint32_t writers = 0;
  std::uint32_t files = 0;
  std::uint16_t strategy = 0;
  std::array<std::byte, 22> zero = {};
};

struct Field {
  std::uint64_t first_block = 0;
  std::uint64_t blocks = 0;
  std::uint64_t first_number = 0;
  std::uint32_t name_at = 0;
  std::uint16_t name_bytes = 0;
  std::uint8_t type = 0;
  std::uint8_t order = 0;
  std::uint8_t kind = 0;
  std::uint8_t dimensions = 0;
  std::array<std::byte, 14> zero = {};
};

struct Block {
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t first_word_and_codec = 0;  ///< codec in the last byte, which is the highest

  static constexpr unsigned kCodecShift = 56;
  constexpr std::uint64_t first_word() const noexcept {
    return first_word_and_codec & ((1ULL << kCodecShift) - 1);
  }
  constexpr std::uint8_t codec() const noexcept {
    return static_cast<std::uint8_t>(first_word_and_codec >> kCodecShift);
  }
};

struct Slot {
  Start start = {kSlotMagic, kMajorVersion, kMinorVersion, kPageBytes, {}};
  std::uint64_t generation = 0;
  std::uint64_t first_step = 0;
  std::uint64_t steps = 0;
  Reference table = {};
  Reference past = {};
  std::uint64_t wall_ns = 0;
  std::array<std::byte, 16> zero = {};
  std::array<std::byte, 3960> table_here = {};
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
  std::array<std::byte, 6> zero = {};
};

struct File {
  std::uint32_t file = 0;
  std::uint32_t zero = 0;
  Reference index = {};
};

struct PastHead {
  Start start = {kPastMagic, kMajorVersion, kMinorVersion, 96, {}};
  std::uint64_t generation = 0;
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;
  std::uint64_t steps = 0;
  Reference before = {};
  std::uint64_t before_last_step = 0;
};

static_assert(sizeof(Start) == 32);
static_assert(sizeof(DataHeader) == kPageBytes);
static_assert(sizeof(IndexHead) == 160);
static_assert(sizeof(Field) == 48);
static_assert(sizeof(Block) == 48);
static_assert(sizeof(Slot) == kPageBytes);
static_assert(sizeof(Step) == 56);
static_assert(sizeof(File) == 32);
static_assert(sizeof(PastHead) == 96);

/// The record at this place of `bytes`, which must have it.
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
inline std::span<const std::byte> before_checksum(std::span<const std::byte> page) noexcept {
  return page.first(page.size() - sizeof(std::uint64_t));
}

}  // namespace forebay::format::layout
