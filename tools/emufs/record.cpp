// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/record.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace forebay::emufs {

namespace {

constexpr std::string_view kMagic = "forebay-emufs 1\n";
static_assert(kAtBrokeOff == kMagic.size() - 1);
constexpr std::uint32_t kMark = 0x44524345;  // "ECRD"
constexpr std::size_t kHeadBytes = 96;
constexpr std::size_t kSumBytes = 8;

// Where the fields of a record's head lie.
constexpr std::size_t kAtMark = 0;
constexpr std::size_t kAtKind = 4;
constexpr std::size_t kAtNumber = 8;
constexpr std::size_t kAtFile = 16;
constexpr std::size_t kAtFolder = 24;
constexpr std::size_t kAtToFolder = 32;
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

/// FNV-1a over words of eight bytes, the last one filled up with zeros: it tells damage, no more.
std::uint64_t sum_of(std::string_view bytes) {
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

/// Whether a name leads to something in its folder, and nowhere else.
bool is_plain(std::string_view name) {
  constexpr std::string_view kSeparators("/\0", 2);
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(kSeparators) == std::string_view::npos;
}

bool names_fit(const Record& record) {
  if (record.kind == RecordKind::kKnown && record.folder == 0) return true;
  if (record.kind == RecordKind::kRename && !is_plain(record.to_name)) return false;
  return record.kind > RecordKind::kRename || is_plain(record.name);
}

/// Whether the bytes that are changed lie where files can have some.
bool range_fits(const Record& record) {
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
  return kind != RecordKind::kKnown && kind < RecordKind::kFsync;
}

bool changes_data(RecordKind kind) noexcept {
  return kind == RecordKind::kWrite || kind == RecordKind::kTruncate ||
         kind == RecordKind::kFallocate;
}

bool makes_file(RecordKind kind) noexcept {
  return kind >= RecordKind::kCreate && kind <= RecordKind::kMknod;
}

std::string record_file_head() { return std::string(kMagic); }
std::size_t record_file_head_bytes() { return kMagic.size(); }

bool is_record_file_head(std::string_view bytes) {
  return bytes.size() >= kMagic.size() && bytes.starts_with(kMagic.substr(0, kAtBrokeOff)) &&
         (bytes[kAtBrokeOff] == kMagic[kAtBrokeOff] || bytes[kAtBrokeOff] == kBrokeOff);
}

std::string encode(const Record& record, std::uint64_t number) {
  std::string bytes(kHeadBytes, '\0');
  put(bytes, kAtMark, kMark);
  put(bytes, kAtKind, static_cast<std::uint8_t>(record.kind));
  put(bytes, kAtNumber, number);
  put(bytes, kAtFile, record.file);
  put(bytes, kAtFolder, record.folder);
  put(bytes, kAtToFolder, record.to_folder);
  put(bytes, kAtOffset, record.offset);
  put(bytes, kAtSize, record.size);
  put(bytes, kAtMode, record.mode);
  put(bytes, kAtUser, record.user);
  put(bytes, kAtGroup, record.group);
  put(bytes, kAtNameBytes, static_cast<std::uint32_t>(record.name.size()));
  put(bytes, kAtToNameBytes, static_cast<std::uint32_t>(record.to_name.size()));
  put(bytes, kAtDataBytes, static_cast<std::uint64_t>(record.data.size()));
  bytes.reserve(kHeadBytes + record.name.size() + record.to_name.size() + record.data.size() +
                kSumBytes);
  bytes.append(record.name).append(record.to_name).append(record.data);
  const std::uint64_t sum = sum_of(bytes);
  bytes.resize(bytes.size() + kSumBytes);
  put(bytes, bytes.size() - kSumBytes, sum);
  return bytes;
}

Decoded decode(std::string_view text) {
  Decoded decoded;
  if (text.size() < kHeadBytes + kSumBytes) {
    decoded.damage = Damage::kEnds;
    return decoded;
  }
  const auto kind = get<std::uint8_t>(text, kAtKind);
  const auto name_bytes = get<std::uint32_t>(text, kAtNameBytes);
  const auto to_name_bytes = get<std::uint32_t>(text, kAtToNameBytes);
  const auto data_bytes = get<std::uint64_t>(text, kAtDataBytes);
  decoded.damage = Damage::kBroken;
  if (get<std::uint32_t>(text, kAtMark) != kMark || kind == 0 || kind >= kNames.size() ||
      name_bytes > kNameBytesMax || to_name_bytes > kNameBytesMax ||
      data_bytes > kRecordDataBytesMax) {
    return decoded;
  }
  const std::size_t body = kHeadBytes + name_bytes + to_name_bytes + data_bytes;
  if (text.size() < body + kSumBytes) {
    decoded.damage = Damage::kEnds;
    return decoded;
  }
  if (get<std::uint64_t>(text, body) != sum_of(text.substr(0, body))) return decoded;
  Record record = {.kind = static_cast<RecordKind>(kind),
                   .file = get<std::uint64_t>(text, kAtFile),
                   .folder = get<std::uint64_t>(text, kAtFolder),
                   .to_folder = get<std::uint64_t>(text, kAtToFolder),
                   .name = std::string(text.substr(kHeadBytes, name_bytes)),
                   .to_name = std::string(text.substr(kHeadBytes + name_bytes, to_name_bytes)),
                   .offset = get<std::uint64_t>(text, kAtOffset),
                   .size = get<std::uint64_t>(text, kAtSize),
                   .mode = get<std::uint32_t>(text, kAtMode),
                   .user = get<std::uint32_t>(text, kAtUser),
                   .group = get<std::uint32_t>(text, kAtGroup),
                   .data = std::string(text.substr(body - data_bytes, data_bytes))};
  if (!names_fit(record) || !range_fits(record)) return decoded;
  decoded.damage = Damage::kNone;
  decoded.bytes = body + kSumBytes;
  decoded.number = get<std::uint64_t>(text, kAtNumber);
  decoded.record = std::move(record);
  return decoded;
}

}  // namespace forebay::emufs
