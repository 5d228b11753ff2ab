// SPDX-License-Identifier: Apache-2.0
// A folder out of which nothing leads: what a recording names is looked for below it, name by name,
// and links on the way are not followed. A recording may come from anybody, and is replayed as
// root.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "tools/emufs/inodes.hpp"

namespace forebay::emufs {

class Enclosure {
 public:
  /// `path` is the user's and may lead over links.
  static Result<Enclosure> open(const std::string& path);

  /// What lies at the end of `names`, from the folder downwards; the folder itself if there are
  /// none. Each name is one: no "..", no "/". The descriptor only names it (O_PATH), be it a link.
  Outcome<Descriptor> at(const std::vector<std::string_view>& names) const;

 private:
  explicit Enclosure(Descriptor root) : root_(std::move(root)) {}
  Descriptor root_;
};

/// What lies under one name of an open folder, as above.
Outcome<Descriptor> named_in(int folder, const char* name);

/// For calls that take a path; it leads to exactly what the descriptor names.
std::string path_of(const Descriptor& named);

/// Opens for writing what the descriptor names. Only regular files: a pipe would have us wait, a
/// device belongs to somebody else.
Outcome<Descriptor> for_writing(const Descriptor& named);

}  // namespace forebay::emufs
