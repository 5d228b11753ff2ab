// SPDX-License-Identifier: Apache-2.0
// Writes a snapshot so that its name appears only when it is whole: everything goes to a temporary
// file beside it, which is renamed at the end. Parts may be written in any order.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <span>
#include <string>

#include "tipsy/layout.hpp"

namespace forebay::tipsy {

/// A snapshot being written. write() may be called from several threads at once.
class SnapshotWriter {
 public:
  /// Makes the temporary file, reserves its space, and writes the header. An existing file of the
  /// name stays as it is until commit(). Fails with kInvalidArgument if the layout cannot be
  /// written (counts over its header's limit), kNoSpace, kPermission, ...
  static Result<SnapshotWriter> create(const std::string& path, const Layout& layout, double time);

  SnapshotWriter(SnapshotWriter&& other) noexcept;
  SnapshotWriter& operator=(SnapshotWriter&&) = delete;
  ~SnapshotWriter();  ///< removes the temporary file unless committed

  /// Writes records at `offset` from the start of the file.
  Status write(std::uint64_t offset, std::span<const std::byte> records) const;

  /// Syncs the data and gives the file its name. Call it once.
  Status commit();

 private:
  SnapshotWriter(std::string path, std::string temporary, int descriptor);
  Status reserve(std::uint64_t size_bytes) const;
  Error error(const char* operation, int error_number) const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace forebay::tipsy
