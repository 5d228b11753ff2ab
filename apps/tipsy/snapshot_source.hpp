// SPDX-License-Identifier: Apache-2.0
// The source of an analysis' bytes: an interface between tasks and what reads for them. The same
// program runs on file streams and on Forebay, for comparison.
#pragma once

#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/future.hpp>
#include <forebay/range.hpp>
#include <forebay/read_plan.hpp>
#include <forebay/session.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forebay::tipsy {

/// A borrowed piece of a file. Its bytes are valid until this object is destroyed or the TaskReader
/// that returned it starts to read the next piece, whichever is first.
class DataChunk {
 public:
  explicit DataChunk(View view) : view_(std::move(view)), bytes_(view_.bytes()) {}
  explicit DataChunk(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  View view_;
  std::span<const std::byte> bytes_;
};

/// Returns the bytes of one task piece by piece, in file order. Belongs to that task.
class TaskReader {
 public:
  virtual ~TaskReader() = default;
  virtual bool is_done() const = 0;
  /// The next piece, never empty, of a length that the source chooses; or an Error. A coroutine
  /// that awaits it resumes on the source's loop. One call at a time.
  virtual Future<DataChunk> next_chunk() = 0;
};

/// Report of a source about its work, after the scan.
struct SourceReport {
  SessionReport session;
  ReadPlan plan;
};

/// A file that tasks read. Not thread-safe, except make_reader() after begin_session().
class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  virtual std::uint64_t file_bytes() const = 0;
  /// The event loop on which tasks must run. Nothing else uses it.
  virtual EventLoop& loop() = 0;
  /// Reads scattered ranges, one after the other, to `into`; blocks. Must precede begin_session().
  virtual Status read_ranges(std::span<const ByteRange> ranges, std::span<std::byte> into) = 0;
  /// Declares that tasks will now read all of `extent`.
  virtual Status begin_session(ByteRange extent) = 0;
  /// A reader of `range`, which must be inside the extent; never null. A failure to open is
  /// reported by its first piece. Any thread may call it.
  virtual std::unique_ptr<TaskReader> make_reader(ByteRange range) const = 0;
  /// No value for sources without a report.
  virtual std::optional<SourceReport> report() const { return std::nullopt; }
};

enum class SourceKind : std::uint8_t { kForebay, kIfstream };
std::string_view name_of(SourceKind kind) noexcept;

/// Options that determine how a file is read.
struct SourceOptions {
  SourceKind kind = SourceKind::kForebay;
  std::optional<std::uint64_t> budget_bytes = std::nullopt;  ///< of Forebay; else its default
};

/// Opens `path`. Fails with kNotFound, kPermission, kInvalidArgument (a budget that cannot work)
/// and other classes.
Result<std::unique_ptr<SnapshotSource>> open_source(const std::string& path,
                                                    const SourceOptions& options);

/// Opens one ifstream for each task, as ChaNGa's TreePieces do: header, size check, seek, read.
Result<std::unique_ptr<SnapshotSource>> open_ifstream_source(const std::string& path);

/// One session for all tasks; each piece is a view of its window.
Result<std::unique_ptr<SnapshotSource>> open_forebay_source(const std::string& path,
                                                            const SourceOptions& options);

}  // namespace forebay::tipsy
