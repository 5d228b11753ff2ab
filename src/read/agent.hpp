// SPDX-License-Identifier: Apache-2.0
// Agent: what performs I/O for tasks. Those who want something read know it by two calls; how it
// waits and reads is its own business.
#pragma once

#include <memory>

namespace forebay::read {

class TransferSource;

class Agent {
 public:
  virtual ~Agent() = default;

  /// Tells the agent that a source may have something to read. Any thread; never blocks; cheap if
  /// it knows already.
  virtual void serve(const std::shared_ptr<TransferSource>& source) = 0;

  /// The same when memory was given back that it waited for.
  virtual void resume(const std::shared_ptr<TransferSource>& source) { serve(source); }

  /// Ends its threads. Later serve() calls do nothing. Sources should be closed before: what they
  /// still want is never read.
  virtual void stop() = 0;
};

}  // namespace forebay::read
