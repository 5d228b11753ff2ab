// SPDX-License-Identifier: Apache-2.0
// One change of a recorded directory, as a value and as bytes: docs/formats/emufs-record.md. All
// kinds have the same fields, most of them empty, so one pair of functions encodes and decodes the
// format.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::emufs {

enum class RecordKind : std::uint8_t {
  kExisting = 1,  ///< existed when recording began
  kCreate = 2,    ///< a regular file, empty
  kMkdir = 3,
  kSymlink = 4,  ///< data: the target
  kMknod = 5,    ///< size: the device's number
  kLink = 6,     ///< one more name for `file`
  kUnlink = 7,
  kRmdir = 8,
  kRename = 9,  ///< size: the flags of renameat2
  kWrite = 10,  ///< data at offset
  kTruncate = 11,
  kAttributes = 12,  ///< mode and owner, after the change
  kTimes = 13,       ///< offset: last access, size: last change, both in nanoseconds
  kSetXattr = 14,    ///< name, data
  kRemoveXattr = 15,
  kFallocate = 16,  ///< offset, size; mode: the flags of fallocate
  kFsync = 17,
  kFdatasync = 18,
  kFsyncDirectory = 19,
  kSyncAll = 20,
};

/// "create", "write", ...
std::string_view name_of(RecordKind kind) noexcept;
/// Whether the record is a change; the others report that changes are durable.
bool is_change(RecordKind kind) noexcept;
/// Whether it changes the bytes or the length of a file.
bool is_data_change(RecordKind kind) noexcept;
/// Whether it creates a file, directory or link.
bool is_creation(RecordKind kind) noexcept;

/// A reader treats longer data as damage.
inline constexpr std::uint64_t kRecordDataBytesMax = 1ULL << 30U;

struct Record {
  RecordKind kind = RecordKind::kSyncAll;
  std::uint64_t file = 0;          ///< the changed file
  std::uint64_t directory = 0;     ///< the directory of its name
  std::uint64_t to_directory = 0;  ///< of a rename
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

/// The first bytes of a recording.
std::string recording_header();
/// The byte that marks a recording as incomplete, because the recorder failed: changes are missing.
inline constexpr char kIncompleteMark = '!';
inline constexpr std::size_t kIncompleteOffset = 15;
/// True if the bytes begin a recording of the supported version, complete or marked incomplete.
bool is_recording_header(std::string_view bytes);
std::size_t recording_header_bytes();

/// The bytes of a record; `number` counts from 1.
std::string encode(const Record& record, std::uint64_t number);

enum class DecodeStatus : std::uint8_t { kOk, kTruncated, kCorrupt };

struct Decoded {
  Record record;
  std::uint64_t number = 0;
  std::size_t bytes = 0;  ///< of `text` that it occupies
  DecodeStatus status = DecodeStatus::kOk;
};

/// The record at the beginning of `text`. kTruncated: it continues past the end, as after a crash.
/// kCorrupt: these bytes are not a record.
Decoded decode(std::string_view text);

}  // namespace forebay::emufs
