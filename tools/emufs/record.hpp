// SPDX-License-Identifier: Apache-2.0
// One change of a recorded folder as a value and as bytes: docs/formats/emufs-record.md. All kinds
// have the same fields, most of them empty, so that one pair of functions knows the format.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::emufs {

enum class RecordKind : std::uint8_t {
  kKnown = 1,   ///< was there when recording began
  kCreate = 2,  ///< a regular file, empty
  kMkdir = 3,
  kSymlink = 4,  ///< data: where it leads
  kMknod = 5,    ///< size: the device's number
  kLink = 6,     ///< one more name for `file`
  kUnlink = 7,
  kRmdir = 8,
  kRename = 9,  ///< size: the flags of renameat2
  kWrite = 10,  ///< data at offset
  kTruncate = 11,
  kAttributes = 12,  ///< mode and owner, as they are then
  kTimes = 13,       ///< offset: last access, size: last change, both in nanoseconds
  kSetXattr = 14,    ///< name, data
  kRemoveXattr = 15,
  kFallocate = 16,  ///< offset, size; mode: the flags of fallocate
  kFsync = 17,
  kFdatasync = 18,
  kFsyncFolder = 19,
  kSyncAll = 20,
};

/// "create", "write", ...
std::string_view name_of(RecordKind kind) noexcept;
/// Whether it changes something; the others say that changes are safe.
bool is_change(RecordKind kind) noexcept;
/// Whether it changes the bytes or the length of a file.
bool changes_data(RecordKind kind) noexcept;
/// Whether a file, folder or link begins with it.
bool makes_file(RecordKind kind) noexcept;

/// What is longer is damage for those who read.
inline constexpr std::uint64_t kRecordDataBytesMax = 1ULL << 30U;

struct Record {
  RecordKind kind = RecordKind::kSyncAll;
  std::uint64_t file = 0;       ///< what is changed
  std::uint64_t folder = 0;     ///< where its name is
  std::uint64_t to_folder = 0;  ///< of a rename
  std::string name;
  std::string to_name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::string data;

  friend bool operator==(const Record&, const Record&) = default;
};

/// What a recording begins with.
std::string record_file_head();
/// The byte in its place that says that the recorder could not go on: changes are missing.
inline constexpr char kBrokeOff = '!';
inline constexpr std::size_t kAtBrokeOff = 15;
/// True if the bytes begin a recording of the version that we read, whole or broken off.
bool is_record_file_head(std::string_view bytes);
std::size_t record_file_head_bytes();

/// The bytes of a record; `number` counts from 1.
std::string encode(const Record& record, std::uint64_t number);

enum class Damage : std::uint8_t { kNone, kEnds, kBroken };

struct Decoded {
  Record record;
  std::uint64_t number = 0;
  std::size_t bytes = 0;  ///< of `text` that it took
  Damage damage = Damage::kNone;
};

/// The record at the beginning of `text`. kEnds: it goes on behind the end, as after a crash;
/// kBroken: these bytes are no record.
Decoded decode(std::string_view text);

}  // namespace forebay::emufs
