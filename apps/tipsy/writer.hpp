// SPDX-License-Identifier: Apache-2.0
// Writes a snapshot to a temporary file in the same directory, and renames it when it is complete.
// Parts may be written in any order.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "command/atomic_file.hpp"
#include "tipsy/layout.hpp"

namespace forebay::tipsy {

/// A snapshot being written. Several threads may call write() at once.
class SnapshotWriter {
 public:
  /// Creates the temporary file, reserves its space, and writes the header. An existing file with
  /// the name remains unchanged until commit(). Fails with kInvalidArgument if the counts exceed
  /// the limit of the header, kNoSpace, kPermission, ...
  static Result<SnapshotWriter> create(const std::string& path, const Layout& layout, double time);

  /// Writes records at `offset` from the start of the file.
  Status write(std::uint64_t offset, std::span<const std::byte> records) const {
    return file_.write(offset, records);
  }

  /// Syncs the data and renames the file. Call it once. A writer that is destroyed without it
  /// leaves no file.
  Status commit() { return file_.publish(); }

 private:
  explicit SnapshotWriter(command::AtomicFile file) : file_(std::move(file)) {}

  command::AtomicFile file_;
};

}  // namespace forebay::tipsy
