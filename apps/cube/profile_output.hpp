// SPDX-License-Identifier: Apache-2.0
// The output file of a new profile: an OutputStream behind the Sink interface, on one rank or
// several. The file has its name once it is complete.
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
#include "cube/writer_comm.hpp"

namespace forebay::cube {

/// Properties of the file, and the buffers for writing it. Equal on all ranks.
struct OutputOptions {
  std::string path;
  std::uint64_t expected_bytes = 0;  ///< of the file; 0 if unknown before it is written
  std::uint64_t buffer_bytes = 0;
  std::uint32_t buffers = 0;
};

/// Thread-safe except create() and publish(). write() copies its bytes; acquire() and submit()
/// write without a copy.
class ProfileOutput : public Sink {
 public:
  /// Collective over `comm`, which must outlive the object. Several ranks write through the page
  /// cache, which merges the blocks at the borders of their parts.
  static Result<std::unique_ptr<ProfileOutput>> create(const OutputOptions& options,
                                                       WriterComm& comm);

  /// Size of a buffer. Longer data must use write().
  std::uint64_t buffer_bytes() const noexcept { return stream_.plan().buffer_bytes; }
  /// Returns a buffer for bytes at `offset`; blocks until one is free.
  Result<OutputBuffer> acquire(std::uint64_t offset) { return stream_.acquire_at(*file_, offset); }
  Status submit(OutputBuffer buffer, std::uint64_t offset, std::uint64_t size_bytes) {
    return stream_.submit(std::move(buffer), *file_, offset, size_bytes);
  }
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return stream_.write(*file_, offset, bytes);
  }
  Status write(std::span<const FileSegment> segments);

  /// Collective. `local` is the status of this rank. If all ranks have succeeded and their bytes
  /// are on stable storage, rank 0 gives the file its name. Otherwise the file is removed. Blocks.
  Status publish(const Status& local);

  StreamReport report() const { return stream_.report(); }

 private:
  ProfileOutput(std::unique_ptr<Runtime> runtime, OutputStream stream, WriterComm& comm);
  static Result<std::unique_ptr<ProfileOutput>> open_stream(const OutputOptions& options,
                                                            WriterComm& comm);
  Status create_file(const OutputOptions& options);
  Status open_file(const std::string& path, const OutputFileOptions& how);

  WriterComm& comm_;
  // In this order, so that the Runtime is destroyed last.
  std::unique_ptr<Runtime> runtime_;
  OutputStream stream_;
  std::optional<OutputFile> file_;
};

}  // namespace forebay::cube
