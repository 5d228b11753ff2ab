// SPDX-License-Identifier: Apache-2.0
// Inbox: what other threads give an agent to do, and what wakes it. Waking a thread costs the one
// that does it several microseconds, and the application is one of those: so nobody rings for an
// agent that is awake, nor for one that will look again by itself if that is soon enough.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/descriptor.hpp"
#include "shm/doorbell.hpp"

namespace forebay::write {

class Inbox {
 public:
  using Work = std::function<void()>;
  /// How long an agent dozes: what is to be done soon can wait for it.
  static constexpr int kDozeMs = 1;
  enum class Haste : std::uint8_t { kNow, kSoon };
  enum class Bell : std::uint8_t { kSilent, kHeard };

  explicit Inbox(shm::Doorbell bell) : bell_(std::move(bell)) {}

  /// Any thread; never waits. False after close(): it is not kept.
  bool add(Work work, Haste haste = Haste::kNow);
  /// Any thread: the agent comes back from its sleep, or does not begin one, with nothing to do.
  void wake();

  // The agent's thread.
  /// Readable where somebody has rung.
  const Descriptor& descriptor() const noexcept { return bell_.descriptor(); }
  /// To be asked right before poll(): for how long the agent may sleep that wants to for `wait_ms`
  /// (as in poll()). Not at all if there is something to do.
  int rest(int wait_ms);
  /// All there is, in order. The agent is awake until it asks to rest again. kHeard: poll()
  /// found descriptor() readable, be it for a ring whose work was taken before.
  std::vector<Work> take(Bell bell);
  /// The same for the last time: nothing more is kept.
  std::vector<Work> close();

 private:
  enum class State : std::uint8_t { kAwake, kDozing, kAsleep };

  const shm::Doorbell bell_;
  std::mutex mutex_;
  std::vector<Work> posted_;
  State state_ = State::kAwake;
  bool is_rung_ = false;  ///< and not taken since
  bool is_closed_ = false;
};

}  // namespace forebay::write
