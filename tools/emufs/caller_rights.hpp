// SPDX-License-Identifier: Apache-2.0
// Changes names with the rights of the program that asked. What it makes belongs to it from the
// start, so that no later change of owner can hit another file that has the name by then. What it
// removes or moves is checked when that is done, not when the kernel looked the name up.
#pragma once

#include "tools/emufs/call.hpp"

namespace forebay::emufs {

/// This thread, and no other, has the user, group and supplementary groups of a request's caller in
/// file systems for as long as this lives. Nothing changes for root.
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
