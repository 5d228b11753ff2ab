// SPDX-License-Identifier: Apache-2.0
// WriteBehind: the writes of one HDF5 file, collected in runs of adjacent bytes, which an output
// stream writes in the background. HDF5 writes pieces of metadata and data in any order, and reads
// some of them again.
#pragma once

#include <forebay/output_stream.hpp>
#include <forebay/range.hpp>
#include <forebay/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace forebay::hdf5 {

/// Callers use it one at a time. The first error is permanent, as that of an OutputStream.
class WriteBehind {
 public:
  /// Opens the existing file for writing; the content stays. Uses `budget_bytes` of memory, at
  /// least two buffers of 64 KiB.
  static Result<std::unique_ptr<WriteBehind>> open(Runtime& runtime,
                                                   const std::string& path,
                                                   std::uint64_t budget_bytes);

  /// Copies the bytes. Blocks while all buffers are being written. Later writes replace earlier
  /// ones, also where they overlap.
  Status write(std::uint64_t offset, std::span<const std::byte> bytes);

  /// True if some of these bytes may not be in the file yet.
  bool is_pending(ByteRange range) const;
  /// Copies pending bytes. False if one run does not hold all of them: drain() then.
  bool read(std::uint64_t offset, std::span<std::byte> into) const;

  /// Waits until all bytes are in the file, as after write(2).
  Status drain();

 private:
  struct Run {
    OutputBuffer buffer;
    std::uint64_t offset;
    std::uint64_t size;
    ByteRange range() const { return {offset, size}; }
  };

  WriteBehind(OutputStream stream, OutputFile file)
      : stream_(std::move(stream)), file_(std::move(file)) {}
  Status write_piece(std::uint64_t offset, std::span<const std::byte> bytes);
  Run* run_for(ByteRange range);
  Status start_run(std::uint64_t offset);
  Status submit(std::size_t index);
  void note_in_flight(ByteRange range);

  OutputStream stream_;
  OutputFile file_;
  std::vector<Run> runs_;  // oldest first; at most half of the buffers
  std::map<std::uint64_t, std::uint64_t>
      in_flight_;  // offset to end; disjoint, since the last drain
};

}  // namespace forebay::hdf5
