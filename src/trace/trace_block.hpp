// SPDX-License-Identifier: Apache-2.0
// Headers and payloads of trace files as bytes (docs/formats/trace.md): checksums, columns,
// compression and JSON. For the reader and the writer; no files here. Any thread.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace_record.hpp"

namespace forebay::trace {

static_assert(std::endian::native == std::endian::little,
              "numbers are copied between memory and files as they are");

inline constexpr std::string_view kTraceMagic = "FbyTrace";
inline constexpr std::uint16_t kTraceVersion = 1;
inline constexpr std::size_t kBlockRecordsMax = 32'768;
inline constexpr std::size_t kBlockBytesMax = kBlockRecordsMax * sizeof(TraceRecord);
inline constexpr std::size_t kJsonBytesMax = std::size_t{64} << 10U;

/// Four letters as the number that is stored in a file.
constexpr std::uint32_t block_letters(std::string_view letters) noexcept {
  std::uint32_t number = 0;
  for (std::size_t i = 4; i-- > 0;)
    number = number << 8U | static_cast<std::uint8_t>(letters[i]);
  return number;
}

enum class BlockKind : std::uint32_t {
  kSource = block_letters("FbyS"),
  kFile = block_letters("FbyF"),
  kRecords = block_letters("FbyR"),
};

/// The start of the file, as stored.
struct TraceHeader {
  std::array<char, 8> magic = {'F', 'b', 'y', 'T', 'r', 'a', 'c', 'e'};
  std::uint16_t version = kTraceVersion;
  std::uint16_t reserved = 0;
  std::uint32_t record_bytes = sizeof(TraceRecord);
  std::uint64_t start_ns = 0;  ///< since 1970; 0: unknown
  std::uint64_t checksum = 0;
};
static_assert(sizeof(TraceHeader) == 32);

/// The header of a block, as stored.
struct BlockHeader {
  BlockKind kind = BlockKind::kRecords;
  std::uint32_t records = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t raw_bytes = 0;
  std::uint32_t source = 0;
  std::uint32_t file_or_lost = 0;  ///< number of the file, or of lost records
  std::uint64_t payload_checksum = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(BlockHeader) == 40);

/// The place of bytes that are decoded, for Errors.
struct TracePlace {
  std::string path;
  std::uint64_t offset = 0;

  tl::unexpected<Error> error(ErrorClass kind, std::string cause) const;
  tl::unexpected<Error> damage(std::string cause) const {
    return error(ErrorClass::kDamage, std::move(cause));
  }
};

/// The header with its checksum.
TraceHeader make_trace_header(std::uint64_t start_ns) noexcept;

/// `bytes`: the first bytes of the file, sizeof(TraceHeader) unless it is shorter. kDamage if it is
/// no trace or damaged, kShortFile if it ends here, kUnsupported for another version.
Result<TraceHeader> decode_trace_header(std::span<const std::byte> bytes, const std::string& path);

/// The last step of writing a header.
void set_checksums(BlockHeader& header, std::span<const std::byte> stored) noexcept;

/// Appends a block to `into`. `header` has kind, records, source and file_or_lost. A payload of
/// records is compressed.
void append_block(BlockHeader header, std::span<const std::byte> raw, std::vector<std::byte>& into);

/// `bytes` has sizeof(BlockHeader) bytes. The result is within all limits. Fails with kDamage.
Result<BlockHeader> decode_block_header(std::span<const std::byte> bytes, const TracePlace& place);

/// Fails with kDamage if the checksum of the stored payload is wrong.
Status check_payload(const BlockHeader& header,
                     std::span<const std::byte> stored,
                     const TracePlace& place);

/// The raw columns of at most kBlockRecordsMax records replace the content of `raw`.
void encode_records(std::span<const TraceRecord> records, std::vector<std::byte>& raw);

/// The records of a checked payload replace the content of `records`; `raw` is memory for the
/// decompressed payload. Fails with kDamage; then the content is undefined.
Status decode_records(std::span<const std::byte> stored,
                      std::vector<std::byte>& raw,
                      std::span<TraceRecord> records,
                      const TracePlace& place);

/// JSON of at most kJsonBytesMax bytes: longer texts are cut.
std::string to_json(const SourceInfo& source);
std::string to_json(const FileInfo& file);

/// Members may be absent. Fails with kDamage.
Result<SourceInfo> decode_source(std::span<const std::byte> json, const TracePlace& place);
Result<FileInfo> decode_file(std::span<const std::byte> json, const TracePlace& place);

}  // namespace forebay::trace
