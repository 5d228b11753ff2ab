// SPDX-License-Identifier: Apache-2.0
// Writes computed rows to their temporary files: by fwrite() while the computation waits, or by
// glibc's asynchronous I/O while it continues.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "bench/cube/row_memory.hpp"
#include "bench/cube/stdio_temporary_file.hpp"

namespace forebay::bench::cube {

enum class RowWriteMode : std::uint8_t { kSynchronous, kAio };

enum class ThreadPlacement : std::uint8_t {
  kUnbound,
  kSeparateCores,  ///< the computation on the first core, writing threads on the others
};

/// The destination of a row.
struct RowTarget {
  StdioTemporaryFile* file = nullptr;
  std::uint64_t offset = 0;
};

/// For one thread.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  /// Returns memory for the next row; may block until a row is written.
  virtual Result<std::span<std::byte>> acquire(std::uint64_t bytes) = 0;
  /// Writes a row from acquire(); releases its memory when the write is complete.
  virtual Status write(const RowTarget& target, std::span<std::byte> row) = 0;
  /// Blocks until all rows are written.
  virtual Status finish() = 0;
};

/// `memory` must outlive the writer.
std::unique_ptr<RowWriter> make_row_writer(RowWriteMode write_mode,
                                           ThreadPlacement placement,
                                           RowMemory& memory);

}  // namespace forebay::bench::cube
