// SPDX-License-Identifier: Apache-2.0
// TraceWriter: writes a trace to a file, block by block (docs/formats/trace.md).
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/file.hpp"
#include "trace/trace_block.hpp"

namespace forebay::trace {

/// Blocks are collected in memory, up to about 1 MiB, until flush(). After a failed write the
/// trace ends with the last complete flush, and all later calls return the same Error. Blocks. One
/// thread at a time.
class TraceWriter {
 public:
  /// `file` is empty and writable; for a file that appears only when complete, that of a
  /// TemporaryFile. `start_ns` is since 1970, 0 if unknown. kExists if the file has content.
  static Result<TraceWriter> create(std::unique_ptr<storage::File> file, std::uint64_t start_ns);

  /// Returns the number of the source or file. kLimit if there are too many.
  Result<std::uint32_t> add_source(const SourceInfo& source);
  Result<std::uint16_t> add_file(const FileInfo& file);

  /// Appends records of a source, and the number of records that were lost since the preceding
  /// call for it. kInvalidArgument, and writes nothing, if a record exceeds a limit or names a file
  /// without a block.
  Status append(std::uint32_t source,
                std::span<const TraceRecord> records,
                std::uint64_t lost_records = 0);

  /// Writes all collected blocks. Does not sync: see file().sync().
  Status flush();

  storage::File& file() noexcept { return *file_; }

 private:
  explicit TraceWriter(std::unique_ptr<storage::File> file) : file_(std::move(file)) {}
  Status check(std::uint32_t source, std::span<const TraceRecord> records) const;
  Status append_json(const BlockHeader& header, const std::string& json);
  Status flush_if_full();

  std::unique_ptr<storage::File> file_;
  std::uint64_t written_bytes_ = 0;
  std::uint32_t source_count_ = 0;
  std::uint32_t file_count_ = 0;
  std::vector<std::byte> blocks_;  ///< not written yet
  std::vector<std::byte> raw_;     ///< columns of the current block
  std::optional<Error> error_;     ///< of the first failed write
};

}  // namespace forebay::trace
