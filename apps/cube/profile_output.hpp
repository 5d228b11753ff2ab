// SPDX-License-Identifier: Apache-2.0
// The file that a new profile is written to: a stream of Forebay behind the interface of a sink, on
// one process or several, and a name that appears when everything is there.
#pragma once

#include <forebay/output_stream.hpp>
#include <forebay/runtime.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cube/profile_layout.hpp"
#include "cube/sink.hpp"
#include "cube/team.hpp"

namespace forebay::cube {

/// What is known of the file, and the memory that it is written through. The same on all ranks.
struct OutputShape {
  std::string path;
  std::uint64_t expected_bytes = 0;  ///< its size; 0: not known before it is written
  std::uint64_t buffer_bytes = 0;
  std::uint32_t buffers = 0;
};

/// Thread-safe but for create() and publish(). Bytes are handed over in copies by write(), or
/// without by acquire() and submit().
class ProfileOutput : public Sink {
 public:
  /// Collective over `team`, which outlives it. Several ranks write through the page cache, which
  /// puts together the blocks at their borders.
  static Result<std::unique_ptr<ProfileOutput>> create(const OutputShape& shape, Team& team);

  /// Bytes of a buffer; what is longer goes through write().
  std::uint64_t buffer_bytes() const noexcept { return stream_.plan().buffer_bytes; }
  /// A buffer for bytes at `offset`; waits until one is free.
  Result<OutputBuffer> acquire(std::uint64_t offset) { return stream_.acquire_at(*file_, offset); }
  Status submit(OutputBuffer buffer, std::uint64_t offset, std::uint64_t size_bytes) {
    return stream_.submit(std::move(buffer), *file_, offset, size_bytes);
  }
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return stream_.write(*file_, offset, bytes);
  }
  Status write(std::span<const Piece> pieces);

  /// Collective: rank 0 gives the file its name when all ranks have succeeded, `mine` being this
  /// one's outcome, and what they wrote is on stable storage. Else the file is removed.
  Status publish(const Status& mine);

  StreamReport report() const { return stream_.report(); }

 private:
  ProfileOutput(std::unique_ptr<Runtime> runtime, OutputStream stream, Team& team);
  static Result<std::unique_ptr<ProfileOutput>> open_stream(const OutputShape& shape, Team& team);
  Status create_file(const OutputShape& shape);
  Status open_file(const std::string& path, const CreateOptions& how);

  Team& team_;
  // In this order, so that the Runtime goes last.
  std::unique_ptr<Runtime> runtime_;
  OutputStream stream_;
  std::optional<OutputFile> file_;
};

}  // namespace forebay::cube
