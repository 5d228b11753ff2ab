// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_block.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <xxhash.h>
#include <zstd.h>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"

namespace forebay::trace {
namespace {

constexpr int kZstdLevel = 1;

std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(),
                              std::bit_cast<std::uint64_t>(TraceHeader{}.magic));
}

/// The checksum of a header, whose last member it is.
template <class Header>
std::uint64_t header_checksum(const Header& header) noexcept {
  const auto bytes = std::as_bytes(std::span(&header, 1));
  return checksum_of(bytes.first(sizeof header - sizeof header.checksum));
}

bool is_within_limits(const BlockHeader& header) noexcept {
  if (header.source >= kSourcesMax) return false;
  if (header.kind == BlockKind::kRecords)
    return header.records <= kBlockRecordsMax && header.stored_bytes <= header.raw_bytes &&
           header.raw_bytes == header.records * sizeof(TraceRecord);
  return (header.kind == BlockKind::kSource || header.file_or_lost < kFilesMax) &&
         header.records == 0 && header.raw_bytes <= kJsonBytesMax &&
         header.stored_bytes == header.raw_bytes;
}

/// The columns of differences.
constexpr std::array kDifferences = {&TraceRecord::offset, &TraceRecord::size,
                                     &TraceRecord::begin_ns};

template <class Number>
void store(std::byte*& at, Number number) noexcept {
  std::memcpy(at, &number, sizeof number);
  at += sizeof number;
}

template <class Number>
void load(const std::byte*& at, Number& number) noexcept {
  std::memcpy(&number, at, sizeof number);
  at += sizeof number;
}

std::size_t copy(std::span<const std::byte> raw, std::span<std::byte> into) noexcept {
  std::ranges::copy(raw, into.begin());
  return raw.size();
}

/// Returns the number of stored bytes. `into` is as long as `raw`.
std::size_t compress(std::span<const std::byte> raw, std::span<std::byte> into) noexcept {
  if (raw.empty()) return 0;
  // A frame that would not be smaller does not fit: then the payload is stored unchanged.
  const std::size_t bytes =
      ZSTD_compress(into.data(), raw.size() - 1, raw.data(), raw.size(), kZstdLevel);
  return ZSTD_isError(bytes) == 0 ? bytes : copy(raw, into);
}

/// Fills `raw` exactly.
Status decompress(std::span<const std::byte> stored,
                  std::span<std::byte> raw,
                  const TracePlace& place) {
  if (stored.size() == raw.size()) {
    copy(stored, raw);
    return {};
  }
  const std::size_t bytes = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(bytes) != 0)
    return place.damage(std::string("its payload is not a zstd frame: ") +
                        ZSTD_getErrorName(bytes));
  if (bytes == raw.size()) return {};
  return place.damage("its payload has " + std::to_string(bytes) + " raw bytes instead of " +
                      std::to_string(raw.size()));
}

}  // namespace

tl::unexpected<Error> TracePlace::error(ErrorClass kind, std::string cause) const {
  return failure({.kind = kind,
                  .operation = "read trace",
                  .path = path,
                  .offset_bytes = offset,
                  .cause = std::move(cause)});
}

TraceHeader make_trace_header(std::uint64_t start_ns) noexcept {
  TraceHeader header{.start_ns = start_ns};
  header.checksum = header_checksum(header);
  return header;
}

Result<TraceHeader> decode_trace_header(std::span<const std::byte> bytes, const std::string& path) {
  const TracePlace place = {path, 0};
  const auto magic = std::as_bytes(std::span(kTraceMagic));
  const std::size_t letters = std::min(bytes.size(), magic.size());
  if (!std::ranges::equal(bytes.first(letters), magic.first(letters)))
    return place.damage("it does not begin with FbyTrace: it is not a trace");
  if (bytes.size() < sizeof(TraceHeader))
    return place.error(ErrorClass::kShortFile, "a trace begins with 32 bytes");
  TraceHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.checksum != header_checksum(header))
    return place.damage("the checksum of its first 32 bytes is wrong");
  if (header.version != kTraceVersion)
    return place.error(ErrorClass::kUnsupported,
                       "it has version " + std::to_string(header.version) +
                           ", and this program reads version 1; use a newer program");
  if (header.record_bytes != sizeof(TraceRecord))
    return place.damage("its records are not 32 bytes");
  return header;
}

void set_checksums(BlockHeader& header, std::span<const std::byte> stored) noexcept {
  header.payload_checksum = checksum_of(stored);
  header.checksum = header_checksum(header);
}

void append_block(BlockHeader header,
                  std::span<const std::byte> raw,
                  std::vector<std::byte>& into) {
  FOREBAY_ASSERT(raw.size() <= kBlockBytesMax);
  const std::size_t at = into.size();
  const std::size_t payload = at + sizeof header;
  into.resize(payload + raw.size());
  const auto room = std::span(into).subspan(payload);
  const std::size_t stored =
      header.kind == BlockKind::kRecords ? compress(raw, room) : copy(raw, room);
  into.resize(payload + stored);
  header.stored_bytes = checked_cast<std::uint32_t>(stored);
  header.raw_bytes = checked_cast<std::uint32_t>(raw.size());
  set_checksums(header, std::span(into).subspan(payload));
  std::memcpy(into.data() + at, &header, sizeof header);
}

Result<BlockHeader> decode_block_header(std::span<const std::byte> bytes, const TracePlace& place) {
  FOREBAY_ASSERT(bytes.size() == sizeof(BlockHeader));
  BlockHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const bool is_known = header.kind == BlockKind::kSource || header.kind == BlockKind::kFile ||
                        header.kind == BlockKind::kRecords;
  if (!is_known) return place.damage("no block begins here");
  if (header.checksum != header_checksum(header))
    return place.damage("the checksum of the header of this block is wrong");
  if (!is_within_limits(header)) return place.damage("a number of this block exceeds its limit");
  return header;
}

Status check_payload(const BlockHeader& header,
                     std::span<const std::byte> stored,
                     const TracePlace& place) {
  if (checksum_of(stored) == header.payload_checksum) return {};
  return place.damage("the checksum of the payload of this block is wrong");
}

void encode_records(std::span<const TraceRecord> records, std::vector<std::byte>& raw) {
  raw.resize(records.size_bytes());
  std::byte* at = raw.data();
  for (const auto member : kDifferences) {
    std::uint64_t before = 0;
    for (const TraceRecord& record : records) {
      store(at, record.*member - before);
      before = record.*member;
    }
  }
  for (const TraceRecord& record : records)
    store(at, record.duration_ns);
  for (const TraceRecord& record : records)
    store(at, record.file);
  for (const TraceRecord& record : records)
    store(at, record.operation);
  for (const TraceRecord& record : records)
    store(at, record.flags);
}

Status decode_records(std::span<const std::byte> stored,
                      std::vector<std::byte>& raw,
                      std::span<TraceRecord> records,
                      const TracePlace& place) {
  raw.resize(records.size_bytes());
  if (const Status filled = decompress(stored, raw, place); !filled) return filled;
  const std::byte* at = raw.data();
  for (const auto member : kDifferences) {
    std::uint64_t number = 0;
    for (TraceRecord& record : records) {
      std::uint64_t difference = 0;
      load(at, difference);
      record.*member = number += difference;
    }
  }
  for (TraceRecord& record : records)
    load(at, record.duration_ns);
  for (TraceRecord& record : records)
    load(at, record.file);
  for (TraceRecord& record : records)
    load(at, record.operation);
  for (TraceRecord& record : records)
    load(at, record.flags);
  const auto wrong = std::ranges::find_if_not(records, is_valid);
  if (wrong == records.end()) return {};
  return place.damage("record " + std::to_string(wrong - records.begin()) +
                      " of this block exceeds a limit");
}

}  // namespace forebay::trace
