// SPDX-License-Identifier: Apache-2.0
// Where an analysis gets its bytes. One small interface between the tasks and what reads for them,
// so that the same program runs on plain file streams and on Forebay and can be compared.
#pragma once

#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/future.hpp>
#include <forebay/plan.hpp>
#include <forebay/range.hpp>
#include <forebay/session.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forebay::tipsy {

/// A borrowed piece of a file. Its bytes stay valid until this object goes or the TaskReader that
/// gave it is asked for the next, whichever is first.
class Piece {
 public:
  explicit Piece(View view) : view_(std::move(view)), bytes_(view_.bytes()) {}
  explicit Piece(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  View view_;
  std::span<const std::byte> bytes_;
};

/// Hands one task its bytes piece by piece, in file order. Belongs to that task.
class TaskReader {
 public:
  virtual ~TaskReader() = default;
  virtual bool done() const = 0;
  /// The next piece, never empty, of whatever length suits the source; or an Error. Awaited in a
  /// coroutine it resumes on the source's loop. One at a time.
  virtual Future<Piece> next() = 0;
};

/// What a source can tell about its work afterwards.
struct SourceReport {
  SessionReport session;
  ReadPlan plan;
};

/// A file that tasks read. Not thread-safe but for reader(), after begin().
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t file_bytes() const = 0;
  /// Where tasks must run. Nobody else uses it.
  virtual EventLoop& loop() = 0;
  /// Scattered ranges, one after the other in `into`; blocks. For looking before begin().
  virtual Status look(std::span<const ByteRange> ranges, std::span<std::byte> into) = 0;
  /// Says that tasks will now read all of `extent`.
  virtual Status begin(ByteRange extent) = 0;
  /// A reader of `range`, which lies in the extent; never null. A failure to open shows in its
  /// first piece. From any thread.
  virtual std::unique_ptr<TaskReader> reader(ByteRange range) const = 0;
  /// Only from sources that have one.
  virtual std::optional<SourceReport> report() const { return std::nullopt; }
};

enum class SourceKind : std::uint8_t { kForebay, kIfstream };
std::string_view name_of(SourceKind kind) noexcept;

/// What decides how a file is read.
struct SourceOptions {
  SourceKind kind = SourceKind::kForebay;
  std::optional<std::uint64_t> budget_bytes = std::nullopt;  ///< of Forebay; else its default
};

/// Opens `path`. Fails with kNotFound, kPermission, kInvalidArgument (a budget that cannot work),
/// ...
Result<std::unique_ptr<ByteSource>> open_source(const std::string& path,
                                                const SourceOptions& options);

/// One ifstream for each task, as ChaNGa's TreePieces open it: header, size check, seek, read.
Result<std::unique_ptr<ByteSource>> open_ifstream_source(const std::string& path);

/// One session for all tasks; each piece is a view of its window.
Result<std::unique_ptr<ByteSource>> open_forebay_source(const std::string& path,
                                                        const SourceOptions& options);

}  // namespace forebay::tipsy
