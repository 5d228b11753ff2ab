// SPDX-License-Identifier: Apache-2.0
// Files that are open only while somebody reads them. Who closes a session on one does not close
// the file yet: an agent may still be reading ahead in it. Where descriptors are scarce that
// matters, so they are counted until the last one has let go.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "format/catalog.hpp"

namespace forebay::restore {

/// Any thread. Files may outlive it.
class OpenFiles {
 public:
  /// As format::file_of().
  Result<std::shared_ptr<storage::File>> open(const format::StepFile& file);
  /// The same. If a limit of the process or of the system is reached (kLimit), waits until one of
  /// these files is closed and tries again, for as long as `patience` and as any of them is open.
  /// Blocks; the caller keeps none of them.
  Result<std::shared_ptr<storage::File>> open_patiently(const format::StepFile& file,
                                                        std::chrono::milliseconds patience);

 private:
  struct Count {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t open = 0;
    std::size_t closed = 0;  // ever
  };

  const std::shared_ptr<Count> count_ = std::make_shared<Count>();
};

}  // namespace forebay::restore
