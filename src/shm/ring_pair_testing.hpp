// SPDX-License-Identifier: Apache-2.0
// A connection between two ends for tests: the memory of its rings and both doorbells, for two
// threads or for two processes. For tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/assert.hpp"
#include "shm/doorbell.hpp"
#include "shm/ring_pair.hpp"
#include "shm/shared_memory.hpp"
#include "shm/testing.hpp"

namespace forebay::shm {

struct Request {
  std::uint64_t number = 0;
  std::uint64_t check = 0;
};
struct Event {
  std::uint64_t number = 0;
};

inline constexpr std::uint64_t kTestCapacity = 64;  // small, so that both sides have to wait

using AgentEnd = RingPair<Event, Request>;
using ClientEnd = RingPair<Request, Event>;

/// Created before a fork, or passed over a channel.
class RingPairFixture {
 public:
  static constexpr std::size_t kRequestBytes = ring_bytes<Request>(kTestCapacity);
  static constexpr std::size_t kEventBytes = ring_bytes<Event>(kTestCapacity);
  static constexpr std::size_t kBytes = kRequestBytes + kEventBytes;

  AgentEnd agent_end() const {
    return *AgentEnd::attach(events(), requests(), duplicate(client_doorbell));
  }
  ClientEnd client_end() const {
    return *ClientEnd::attach(requests(), events(), duplicate(agent_doorbell));
  }
  /// The same connection, mapped at another address.
  RingPairFixture remapped() const {
    return {.memory = *SharedMemory::attach(*memory.share(Protection::kReadWrite), kBytes,
                                            Protection::kReadWrite),
            .agent_doorbell = duplicate(agent_doorbell),
            .client_doorbell = duplicate(client_doorbell)};
  }
  std::span<std::byte> requests() const { return memory.bytes().first(kRequestBytes); }
  std::span<std::byte> events() const { return memory.bytes().last(kEventBytes); }

  SharedMemory memory = *SharedMemory::create("forebay-test", kBytes);
  Doorbell agent_doorbell = *Doorbell::create();
  Doorbell client_doorbell = *Doorbell::create();

 private:
  static Doorbell duplicate(const Doorbell& bell) {
    return *Doorbell::from(*bell.descriptor().duplicate());
  }
};

/// Sends `count` numbers and receives as many at the same time; sleeps whenever there is no work.
/// False if one is missing, wrong or late.
template <class Out, class In>
bool exchange(RingPair<Out, In>& end, const Doorbell& own, std::uint64_t count) {
  const Deadline deadline = test_deadline();
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  In message;
  while (sent < count || received < count) {
    bool has_moved = false;
    while (sent < count && end.try_push({.number = sent}) == RingOutcome::kDone) {
      ++sent;
      has_moved = true;
    }
    while (received < count && end.try_pop(message) == RingOutcome::kDone) {
      if (message.number != received) return false;
      ++received;
      has_moved = true;
    }
    const WakeCondition awaited = sent == count       ? WakeCondition::kMessage
                                  : received == count ? WakeCondition::kSpace
                                                      : WakeCondition::kEither;
    if (has_moved || !end.prepare_sleep(awaited)) continue;
    if (!own.wait(deadline)) return false;
    own.clear();
  }
  return true;
}

}  // namespace forebay::shm
