// SPDX-License-Identifier: Apache-2.0
// How a computed row gets into its temporary file: by fwrite while the computation waits, or by
// glibc's asynchronous I/O while it goes on.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "bench/cube/row_memory.hpp"
#include "bench/cube/temporary_file.hpp"

namespace forebay::bench::cube {

enum class Writing : std::uint8_t { kSynchronous, kAio };

enum class Placement : std::uint8_t {
  kAnywhere,
  kApart,  ///< the computation on the first core, threads that write on the others
};

/// Where a row goes.
struct RowTarget {
  TemporaryFile* file = nullptr;
  std::uint64_t offset = 0;
};

/// For one thread.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  /// Memory for the next row; may wait for one that is being written.
  virtual Result<std::span<std::byte>> take(std::uint64_t bytes) = 0;
  /// Writes a row from take(); its memory goes back when that is done.
  virtual Status write(const RowTarget& target, std::span<std::byte> row) = 0;
  /// Waits until all rows are written.
  virtual Status finish() = 0;
};

/// `memory` must outlive the writer.
std::unique_ptr<RowWriter> make_row_writer(Writing writing, Placement placement, RowMemory& memory);

}  // namespace forebay::bench::cube
