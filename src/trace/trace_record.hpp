// SPDX-License-Identifier: Apache-2.0
// TraceRecord: one call as traces hold it in memory, and descriptions of the threads and files that
// records refer to (docs/formats/trace.md). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

namespace forebay::trace {

enum class TraceOperation : std::uint8_t { kOpen, kRead, kWrite, kClose, kSync, kSeek };
inline constexpr std::uint8_t kTraceOperationMax = 5;

/// Flags of a record, as a sum.
inline constexpr std::uint8_t kFlagCollective = 1;
inline constexpr std::uint8_t kFlagMapped = 2;
inline constexpr std::uint8_t kFlagTimeUnknown = 4;
inline constexpr std::uint8_t kFlagOffsetUnknown = 8;
inline constexpr std::uint8_t kFlagFailed = 16;  ///< the call failed; the size is as requested
inline constexpr std::uint8_t kFlagsAll = 31;

/// The file of a record that has no number.
inline constexpr std::uint16_t kFileUnknown = UINT16_MAX;
/// Maximum of offset + size and of begin_ns.
inline constexpr std::uint64_t kTraceNumberMax = INT64_MAX;
/// Limits of a trace.
inline constexpr std::uint32_t kSourcesMax = 1U << 20U;
inline constexpr std::uint32_t kFilesMax = 65'535;

/// One call. The source is that of the ring or block that holds the record.
struct TraceRecord {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;         ///< transferred, or requested if unknown
  std::uint64_t begin_ns = 0;     ///< since the start of the trace
  std::uint32_t duration_ns = 0;  ///< saturates
  std::uint16_t file = kFileUnknown;
  TraceOperation operation = TraceOperation::kRead;
  std::uint8_t flags = 0;

  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};
static_assert(sizeof(TraceRecord) == 32);
static_assert(std::is_trivially_copyable_v<TraceRecord>);
static_assert(std::has_unique_object_representations_v<TraceRecord>);

/// True if the record is within the limits of the format.
constexpr bool is_valid(const TraceRecord& record) noexcept {
  return record.size <= kTraceNumberMax && record.offset <= kTraceNumberMax - record.size &&
         record.begin_ns <= kTraceNumberMax &&
         static_cast<std::uint8_t>(record.operation) <= kTraceOperationMax &&
         record.flags <= kFlagsAll;
}

/// A thread that records.
struct SourceInfo {
  std::string host = {};
  std::uint64_t process = 0;
  std::optional<std::uint32_t> rank = {};
  std::uint64_t thread = 0;
  std::string program = {};

  friend bool operator==(const SourceInfo&, const SourceInfo&) = default;
};

/// The view of a file of MPI-IO, in bytes.
struct FileView {
  std::uint64_t displacement = 0;
  std::uint64_t etype_bytes = 0;
  std::uint64_t filetype_bytes = 0;
  std::uint64_t filetype_extent = 0;

  friend bool operator==(const FileView&, const FileView&) = default;
};

inline constexpr const char* kMpiInterface = "MPI-IO";

/// A file that records refer to.
struct FileInfo {
  std::string path = {};
  std::optional<std::uint64_t> device = {};
  std::optional<std::uint64_t> inode = {};
  std::optional<std::uint64_t> size_bytes = {};
  std::optional<std::string> interface = {};  ///< kMpiInterface, or none
  std::optional<FileView> view = {};

  friend bool operator==(const FileInfo&, const FileInfo&) = default;
};

}  // namespace forebay::trace
