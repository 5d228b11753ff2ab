// SPDX-License-Identifier: Apache-2.0
// Agent: what performs I/O for tasks. Sessions know it by two calls; how it waits and reads is its
// own business.
#pragma once

#include <memory>

namespace forebay::read {

class SessionCore;

class Agent {
 public:
  virtual ~Agent() = default;

  /// Tells the agent that a session may have something to read. Any thread; never blocks; cheap if
  /// it knows already.
  virtual void serve(const std::shared_ptr<SessionCore>& session) = 0;

  /// The same when memory was given back that the session waited for.
  virtual void resume(const std::shared_ptr<SessionCore>& session) { serve(session); }

  /// Ends its threads. Later serve() calls do nothing. Sessions should be closed before: what they
  /// still want is never read.
  virtual void stop() = 0;
};

}  // namespace forebay::read
