// SPDX-License-Identifier: Apache-2.0
// OpenFileTracker: counts files that are open while they are read. Closing a session does not close
// its file at once, because an agent may still read ahead in it. With few descriptors that matters,
// so files count as open until their last user has released them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "format/catalog.hpp"

namespace forebay::restore {

/// Thread-safe. Files may outlive it.
class OpenFileTracker {
 public:
  /// As format::open_step_file().
  Result<std::shared_ptr<storage::File>> open(const format::StepFile& file);
  /// The same. If a limit of the process or of the system is reached (kLimit), waits until one of
  /// these files is closed and tries again. Gives up after `timeout`, or when none of them is open.
  /// Blocks; the caller must hold none of them.
  Result<std::shared_ptr<storage::File>> open_with_timeout(const format::StepFile& file,
                                                           std::chrono::milliseconds timeout);

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t open = 0;
    std::size_t closed = 0;  // since the start
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace forebay::restore
