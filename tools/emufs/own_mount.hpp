// SPDX-License-Identifier: Apache-2.0
// The mount that we made, wherever it is shown by now: it may have been unmounted, moved, or
// covered by another one, so its path does not say whose mount is there when we end.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace forebay::emufs {

class OwnMount {
 public:
  /// What was mounted at `path` last, which is ours.
  OwnMount(const std::string& path, std::string backing);

  /// Whoever waits for an answer of it gets an error, its threads find that it has ended, and it is
  /// taken from where it is shown. Does nothing to what has ended already. The backing folder must
  /// be held still: with that no other emufs looks like us.
  void end() const;

 private:
  std::string backing_;
  dev_t device_ = 0;  ///< none: it was gone at once
  Descriptor abort_;  ///< empty where the kernel does not let us have it
};

}  // namespace forebay::emufs
