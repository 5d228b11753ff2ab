// SPDX-License-Identifier: Apache-2.0
// Chores: what an agent's thread does besides moving bytes: listening to clients of its node and to
// the agents of others. The thread waits for all of it in one place.
#pragma once

namespace forebay::read {

class Chores {
 public:
  virtual ~Chores() = default;

  /// Readable when there is something to do; the same for ever.
  virtual int descriptor() const noexcept = 0;
  /// Does it. Called on the agent's thread when descriptor() was readable; must not block.
  virtual void attend() = 0;
};

}  // namespace forebay::read
