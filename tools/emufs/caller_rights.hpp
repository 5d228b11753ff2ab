// SPDX-License-Identifier: Apache-2.0
// Changes names with the rights of the calling program. What it creates belongs to the caller from
// the start. A later change of owner could hit another file that has the name by then. Rights to
// remove or rename are checked during the operation, not when the kernel looked up the name.
#pragma once

#include "tools/emufs/call.hpp"

namespace forebay::emufs {

/// While it exists, this thread alone has the user, group and supplementary groups of a request's
/// caller in file systems. Nothing changes for root.
class CallerRights {
 public:
  explicit CallerRights(const Call& call);
  ~CallerRights();
  CallerRights(const CallerRights&) = delete;
  CallerRights& operator=(const CallerRights&) = delete;

 private:
  bool has_changed_ = false;
};

}  // namespace forebay::emufs
