// SPDX-License-Identifier: Apache-2.0
// Chores: what an agent's thread does besides moving bytes: listening to clients of its node and to
// the agents of others. The thread waits for all of it in one place.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace forebay::read {

class Chores {
 public:
  virtual ~Chores() = default;

  /// Readable when there is something to do; the same for ever.
  virtual int descriptor() const noexcept = 0;
  /// Does it. Called on the agent's thread when descriptor() was readable; must not block.
  virtual void attend() = 0;
  /// When to attend at the latest, whatever descriptor() says; asked before each wait.
  virtual Deadline due() const { return std::nullopt; }
  /// The agent's thread ends: whoever waits for something from here is told so.
  virtual void end() {}
};

/// Several of them as one.
class ChoreList final : public Chores {
 public:
  static Result<std::shared_ptr<ChoreList>> of(std::vector<std::shared_ptr<Chores>> chores);

  int descriptor() const noexcept override { return events_.get(); }
  void attend() override;
  Deadline due() const override;
  void end() override;

 private:
  std::vector<std::shared_ptr<Chores>> chores_;
  Descriptor events_;
};

}  // namespace forebay::read
