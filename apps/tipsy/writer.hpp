// SPDX-License-Identifier: Apache-2.0
// Writes a snapshot so that its name appears only when it is whole: everything goes to a temporary
// file beside it, which is renamed at the end. Parts may be written in any order.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "command/published_file.hpp"
#include "tipsy/layout.hpp"

namespace forebay::tipsy {

/// A snapshot being written. write() may be called from several threads at once.
class SnapshotWriter {
 public:
  /// Makes the temporary file, reserves its space, and writes the header. An existing file of the
  /// name stays as it is until commit(). Fails with kInvalidArgument if the layout cannot be
  /// written (counts over its header's limit), kNoSpace, kPermission, ...
  static Result<SnapshotWriter> create(const std::string& path, const Layout& layout, double time);

  /// Writes records at `offset` from the start of the file.
  Status write(std::uint64_t offset, std::span<const std::byte> records) const {
    return file_.write(offset, records);
  }

  /// Syncs the data and gives the file its name. Call it once. A writer that goes without it
  /// leaves nothing.
  Status commit() { return file_.publish(); }

 private:
  explicit SnapshotWriter(command::PublishedFile file) : file_(std::move(file)) {}

  command::PublishedFile file_;
};

}  // namespace forebay::tipsy
