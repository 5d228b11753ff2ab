// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/record.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace forebay::emufs {

namespace {

constexpr std::string_view kMagic = "forebay-emufs 1\n";
static_assert(kIncompleteOffset == kMagic.size() - 1);
constexpr std::uint32_t kRecordMagic = 0x44524345;  // "ECRD"
constexpr std::size_t kRecordHeaderBytes = 96;
constexpr std::size_t kChecksumBytes = 8;

// Offsets of the fields in a record's header.
constexpr std::size_t kAtMark = 0;
constexpr std::size_t kAtKind = 4;
constexpr std::size_t kAtNumber = 8;
constexpr std::size_t kAtFile = 16;
constexpr std::size_t kAtDirectory = 24;
constexpr std::size_t kAtToDirectory = 32;
constexpr std::size_t kAtOffset = 40;
constexpr std::size_t kAtSize = 48;
constexpr std::size_t kAtMode = 56;
constexpr std::size_t kAtUser = 60;
constexpr std::size_t kAtGroup = 64;
constexpr std::size_t kAtNameBytes = 68;
constexpr std::size_t kAtToNameBytes = 72;
constexpr std::size_t kAtDataBytes = 80;

constexpr std::uint32_t kNameBytesMax = 4096;

constexpr std::array<std::string_view, 21> kNames = {
    "",          "known",        "create",    "mkdir", "symlink",   "mknod",        "link",
    "unlink",    "rmdir",        "rename",    "write", "truncate",  "attributes",   "times",
    "set-xattr", "remove-xattr", "fallocate", "fsync", "fdatasync", "fsync-folder", "sync-all"};

template <class Number>
void put(std::string& bytes, std::size_t at, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes[at + i] = static_cast<char>(value & 0xffU);
    value = static_cast<Number>(value >> 8U);
  }
}

template <class Number>
Number get(std::string_view bytes, std::size_t at) {
  Number value = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    value = static_cast<Number>(value << 8U) | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

/// FNV-1a over words of eight bytes, the last one padded with zeros: detects damage, not tampering.
std::uint64_t checksum_of(std::string_view bytes) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t sum = 0xcbf29ce484222325 ^ bytes.size();
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t size = std::min(bytes.size(), sizeof(word));
    std::memcpy(&word, bytes.data(), size);
    sum = (sum ^ word) * kPrime;
    sum ^= sum >> 29U;
    bytes.remove_prefix(size);
  }
  return sum;
}

/// Whether a name is a single component that stays in its directory.
bool is_valid_name(std::string_view name) {
  constexpr std::string_view kSeparators("/\0", 2);
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(kSeparators) == std::string_view::npos;
}

bool has_valid_names(const Record& record) {
  if (record.kind == RecordKind::kExisting && record.directory == 0) return true;
  if (record.kind == RecordKind::kRename && !is_valid_name(record.to_name)) return false;
  return record.kind > RecordKind::kRename || is_valid_name(record.name);
}

/// Whether the changed bytes lie in the valid range of file offsets.
bool has_valid_range(const Record& record) {
  constexpr std::uint64_t kFileBytesMax = INT64_MAX;
  const bool is_write = record.kind == RecordKind::kWrite;
  if (!is_write && record.kind != RecordKind::kTruncate && record.kind != RecordKind::kFallocate) {
    return true;
  }
  const std::uint64_t size = is_write ? record.data.size() : record.size;
  return size <= kFileBytesMax && record.offset <= kFileBytesMax - size;
}

}  // namespace

std::string_view name_of(RecordKind kind) noexcept {
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_change(RecordKind kind) noexcept {
  return kind != RecordKind::kExisting && kind < RecordKind::kFsync;
}

bool is_data_change(RecordKind kind) noexcept {
  return kind == RecordKind::kWrite || kind == RecordKind::kTruncate ||
         kind == RecordKind::kFallocate;
}

bool is_creation(RecordKind kind) noexcept {
  return kind >= RecordKind::kCreate && kind <= RecordKind::kMknod;
}

std::string recording_header() { return std::string(kMagic); }
std::size_t recording_header_bytes() { return kMagic.size(); }

bool is_recording_header(std::string_view bytes) {
  return bytes.size() >= kMagic.size() && bytes.starts_with(kMagic.substr(0, kIncompleteOffset)) &&
         (bytes[kIncompleteOffset] == kMagic[kIncompleteOffset] ||
          bytes[kIncompleteOffset] == kIncompleteMark);
}

std::string encode(const Record& record, std::uint64_t number) {
  std::string bytes(kRecordHeaderBytes, '\0');
  put(bytes, kAtMark, kRecordMagic);
  put(bytes, kAtKind, static_cast<std::uint8_t>(record.kind));
  put(bytes, kAtNumber, number);
  put(bytes, kAtFile, record.file);
  put(bytes, kAtDirectory, record.directory);
  put(bytes, kAtToDirectory, record.to_directory);
  put(bytes, kAtOffset, record.offset);
  put(bytes, kAtSize, record.size);
  put(bytes, kAtMode, record.mode);
  put(bytes, kAtUser, record.user);
  put(bytes, kAtGroup, record.group);
  put(bytes, kAtNameBytes, static_cast<std::uint32_t>(record.name.size()));
  put(bytes, kAtToNameBytes, static_cast<std::uint32_t>(record.to_name.size()));
  put(bytes, kAtDataBytes, static_cast<std::uint64_t>(record.data.size()));
  bytes.reserve(kRecordHeaderBytes + record.name.size() + record.to_name.size() +
                record.data.size() + kChecksumBytes);
  bytes.append(record.name).append(record.to_name).append(record.data);
  const std::uint64_t sum = checksum_of(bytes);
  bytes.resize(bytes.size() + kChecksumBytes);
  put(bytes, bytes.size() - kChecksumBytes, sum);
  return bytes;
}

Decoded decode(std::string_view text) {
  Decoded decoded;
  if (text.size() < kRecordHeaderBytes + kChecksumBytes) {
    decoded.status = DecodeStatus::kTruncated;
    return decoded;
  }
  const auto kind = get<std::uint8_t>(text, kAtKind);
  const auto name_bytes = get<std::uint32_t>(text, kAtNameBytes);
  const auto to_name_bytes = get<std::uint32_t>(text, kAtToNameBytes);
  const auto data_bytes = get<std::uint64_t>(text, kAtDataBytes);
  decoded.status = DecodeStatus::kCorrupt;
  if (get<std::uint32_t>(text, kAtMark) != kRecordMagic || kind == 0 || kind >= kNames.size() ||
      name_bytes > kNameBytesMax || to_name_bytes > kNameBytesMax ||
      data_bytes > kRecordDataBytesMax) {
    return decoded;
  }
  const std::size_t body = kRecordHeaderBytes + name_bytes + to_name_bytes + data_bytes;
  if (text.size() < body + kChecksumBytes) {
    decoded.status = DecodeStatus::kTruncated;
    return decoded;
  }
  if (get<std::uint64_t>(text, body) != checksum_of(text.substr(0, body))) return decoded;
  Record record = {
      .kind = static_cast<RecordKind>(kind),
      .file = get<std::uint64_t>(text, kAtFile),
      .directory = get<std::uint64_t>(text, kAtDirectory),
      .to_directory = get<std::uint64_t>(text, kAtToDirectory),
      .name = std::string(text.substr(kRecordHeaderBytes, name_bytes)),
      .to_name = std::string(text.substr(kRecordHeaderBytes + name_bytes, to_name_bytes)),
      .offset = get<std::uint64_t>(text, kAtOffset),
      .size = get<std::uint64_t>(text, kAtSize),
      .mode = get<std::uint32_t>(text, kAtMode),
      .user = get<std::uint32_t>(text, kAtUser),
      .group = get<std::uint32_t>(text, kAtGroup),
      .data = std::string(text.substr(body - data_bytes, data_bytes))};
  if (!has_valid_names(record) || !has_valid_range(record)) return decoded;
  decoded.status = DecodeStatus::kOk;
  decoded.bytes = body + kChecksumBytes;
  decoded.number = get<std::uint64_t>(text, kAtNumber);
  decoded.record = std::move(record);
  return decoded;
}

}  // namespace forebay::emufs
