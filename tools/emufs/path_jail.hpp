// SPDX-License-Identifier: Apache-2.0
// Confines paths to a directory. The path of a recording is resolved below it, name by name,
// without following links. A recording may be from an untrusted source and is replayed as root.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "tools/emufs/inodes.hpp"

namespace forebay::emufs {

class PathJail {
 public:
  /// `path` is the user's and may contain links.
  static Result<PathJail> open(const std::string& path);

  /// Opens the end of the path `names`, from the directory downwards; the directory itself if
  /// `names` is empty. Each name is a single component: no "..", no "/". The descriptor is O_PATH,
  /// also for a link.
  ErrnoResult<Descriptor> open_path(const std::vector<std::string_view>& names) const;

 private:
  explicit PathJail(Descriptor root) : root_(std::move(root)) {}
  Descriptor root_;
};

/// Opens one name of an open directory, as above.
ErrnoResult<Descriptor> open_name(int directory, const char* name);

/// For calls that take a path; leads to exactly what the descriptor refers to.
std::string path_of(const Descriptor& named);

/// Reopens a descriptor's file for writing. Regular files only: opening a pipe would block, and a
/// device is outside the recording.
ErrnoResult<Descriptor> open_for_writing(const Descriptor& named);

}  // namespace forebay::emufs
