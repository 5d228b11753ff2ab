// SPDX-License-Identifier: Apache-2.0
// WantQueues: splinters that wait to be read, by urgency and by server, in the order of asking.
// Which of them are still wanted is known elsewhere: entries may be stale, and are dropped when
// they come to the front.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "read/geometry.hpp"
#include "read/server_lanes.hpp"

namespace forebay::read {

/// How much somebody needs a splinter; it decides what may be pushed out for it.
enum class Urgency : std::uint8_t {
  kHint,             ///< will probably be wanted soon
  kAsked,            ///< a request exists; nobody waits for it right now
  kAwaited,          ///< a coroutine or a continuation waits
  kAwaitedHelpless,  ///< the same, and no thread of its executor does an agent's work
  kBlocked,          ///< a thread does nothing else
};
inline constexpr std::size_t kUrgencies = static_cast<std::size_t>(Urgency::kBlocked) + 1;

class WantQueues {
 public:
  explicit WantQueues(std::uint32_t lanes) {
    for (auto& queues : by_urgency_)
      queues.resize(lanes);
  }

  void push(SplinterIndex splinter, Urgency urgency, std::uint32_t lane) {
    of(urgency)[lane].push_back({splinter, turn_++});
  }

  /// Of the splinters of this urgency whose servers have room, the one that was asked for first.
  /// `is_stale(splinter)` says which are no longer to be read; those at the fronts are dropped. The
  /// one that is returned stays in its queue until it is stale.
  template <class IsStale>
  std::optional<SplinterIndex> first(Urgency urgency, const ServerLanes& lanes, IsStale is_stale) {
    const Entry* found = nullptr;
    for (std::uint32_t lane = 0; lane < lanes.count(); ++lane) {
      Queue& queue = of(urgency)[lane];
      if (!lanes.has_room(lane)) continue;
      while (!queue.empty() && is_stale(queue.front().splinter))
        queue.pop_front();
      if (!queue.empty() && (found == nullptr || queue.front().turn < found->turn))
        found = &queue.front();
    }
    return found == nullptr ? std::nullopt : std::optional(found->splinter);
  }

  void clear() {
    for (auto& queues : by_urgency_) {
      for (Queue& queue : queues)
        queue.clear();
    }
  }

 private:
  struct Entry {
    SplinterIndex splinter = 0;
    std::uint64_t turn = 0;
  };
  using Queue = std::deque<Entry>;

  std::vector<Queue>& of(Urgency urgency) { return by_urgency_[static_cast<std::size_t>(urgency)]; }

  std::array<std::vector<Queue>, kUrgencies> by_urgency_;
  std::uint64_t turn_ = 0;
};

}  // namespace forebay::read
