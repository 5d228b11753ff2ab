// SPDX-License-Identifier: Apache-2.0
// EventSource: work of an agent's thread besides transfers, for example messages from clients of
// its node and from agents of other nodes. The thread waits for all event sources in one place.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace forebay::read {

class EventSource {
 public:
  virtual ~EventSource() = default;

  /// Readable when there is work; the same descriptor for the lifetime of the object.
  virtual int descriptor() const noexcept = 0;
  /// Does the work. Called on the agent's thread when descriptor() was readable, and after each
  /// wait with a next_deadline(); must not block.
  virtual void poll() = 0;
  /// Latest time of the next poll(), whatever descriptor() reports; called before each wait.
  virtual Deadline next_deadline() const { return std::nullopt; }
  /// The agent's thread ends: notifies all that wait for a result from this source.
  virtual void shutdown() {}
};

/// Combines several event sources into one.
class EventSourceSet final : public EventSource {
 public:
  static Result<std::shared_ptr<EventSourceSet>> create(
      std::vector<std::shared_ptr<EventSource>> event_sources);

  int descriptor() const noexcept override { return events_.get(); }
  void poll() override;
  Deadline next_deadline() const override;
  void shutdown() override;

 private:
  std::vector<std::shared_ptr<EventSource>> event_sources_;
  Descriptor events_;
};

}  // namespace forebay::read
