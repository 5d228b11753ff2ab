// SPDX-License-Identifier: Apache-2.0
// ReadAgent: performs I/O for tasks. Sources call notify() and notify_memory_released(); how it
// waits and reads is private.
#pragma once

#include <memory>

namespace forebay::read {

class TransferSource;

class ReadAgent {
 public:
  virtual ~ReadAgent() = default;

  /// Notifies the agent that a source may have a transfer. Any thread; never blocks; cheap if the
  /// agent is already notified.
  virtual void notify(const std::shared_ptr<TransferSource>& source) = 0;

  /// The same, after memory was released for which the source waited.
  virtual void notify_memory_released(const std::shared_ptr<TransferSource>& source) {
    notify(source);
  }

  /// Ends the agent's threads. Later notify() calls do nothing. Close all sources first: pending
  /// transfers of an open source would never be read.
  virtual void stop() = 0;
};

}  // namespace forebay::read
