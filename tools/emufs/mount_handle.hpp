// SPDX-License-Identifier: Apache-2.0
// Refers to a mount that this process made, wherever it is shown by now. It may have been
// unmounted, moved or covered, so its path does not identify it when emufs ends.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace forebay::emufs {

class MountHandle {
 public:
  /// The last mount at `path`, which must be the caller's.
  MountHandle(const std::string& path, std::string backing);

  /// Aborts the connection: waiting programs get an error, the mount's threads see its end, and all
  /// its mounts are detached. Does nothing if it has ended. The caller must hold the lock of the
  /// backing directory, so that no other emufs has the same source.
  void abort() const;

 private:
  std::string backing_;
  dev_t device_ = 0;  ///< none: the mount had already ended
  Descriptor abort_;  ///< empty if the kernel does not grant access
};

}  // namespace forebay::emufs
