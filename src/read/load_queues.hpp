// SPDX-License-Identifier: Apache-2.0
// LoadQueues: splinters that wait to be loaded, by priority and by server, in order of request.
// Entries may be stale: the owner decides whether a splinter is still requested. Stale entries are
// dropped when they reach the front.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "read/geometry.hpp"
#include "read/server_load_limiter.hpp"

namespace forebay::read {

/// Priority of a load; it decides which splinters may be evicted for it.
enum class LoadPriority : std::uint8_t {
  kHint,       ///< will probably be requested soon
  kRequested,  ///< requested, but nothing waits for it at present
  /// A coroutine or a continuation waits, whose executor's threads also copy; or the request was
  /// polled once without a result.
  kAwaited,
  kAwaitedUnassisted,  ///< any other waiter: a thread, a descriptor, a client; or polled again
  kBlocked,            ///< a thread loads in LocalSession::help(), or the owner has polled 64 times
};
inline constexpr std::size_t kLoadPriorities = static_cast<std::size_t>(LoadPriority::kBlocked) + 1;

class LoadQueues {
 public:
  explicit LoadQueues(std::uint32_t servers) {
    for (auto& queues : by_priority_)
      queues.resize(servers);
  }

  void push(SplinterIndex splinter, LoadPriority priority, std::uint32_t server) {
    queues_of(priority)[server].push_back({splinter, next_sequence_++});
  }

  /// Returns the splinter of this priority that was requested first, of those whose server has
  /// room. `is_stale(splinter)` is true if the splinter need not be loaded any more; such entries
  /// are dropped at the fronts. The returned entry stays in its queue until it is stale.
  template <class IsStale>
  std::optional<SplinterIndex> first(LoadPriority priority,
                                     const ServerLoadLimiter& limiter,
                                     IsStale is_stale) {
    const Entry* found = nullptr;
    for (std::uint32_t server = 0; server < limiter.count(); ++server) {
      Queue& queue = queues_of(priority)[server];
      if (!limiter.has_room(server)) continue;
      while (!queue.empty() && is_stale(queue.front().splinter))
        queue.pop_front();
      if (!queue.empty() && (found == nullptr || queue.front().sequence < found->sequence))
        found = &queue.front();
    }
    return found == nullptr ? std::nullopt : std::optional(found->splinter);
  }

  void clear() {
    for (auto& queues : by_priority_) {
      for (Queue& queue : queues)
        queue.clear();
    }
  }

 private:
  struct Entry {
    SplinterIndex splinter = 0;
    std::uint64_t sequence = 0;
  };
  using Queue = std::deque<Entry>;

  std::vector<Queue>& queues_of(LoadPriority priority) {
    return by_priority_[static_cast<std::size_t>(priority)];
  }

  std::array<std::vector<Queue>, kLoadPriorities> by_priority_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace forebay::read
