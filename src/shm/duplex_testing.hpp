// SPDX-License-Identifier: Apache-2.0
// A line between two ends for tests: the memory of its rings and both bells, for two threads or for
// two processes. For tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/assert.hpp"
#include "shm/doorbell.hpp"
#include "shm/duplex.hpp"
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

inline constexpr std::uint64_t kLineCapacity = 64;  // small, so that both sides have to wait

using AgentEnd = Duplex<Event, Request>;
using ClientEnd = Duplex<Request, Event>;

/// Made before a fork, or passed over a channel.
class Line {
 public:
  static constexpr std::size_t kRequestBytes = ring_bytes<Request>(kLineCapacity);
  static constexpr std::size_t kEventBytes = ring_bytes<Event>(kLineCapacity);
  static constexpr std::size_t kBytes = kRequestBytes + kEventBytes;

  AgentEnd agent_end() const {
    return *AgentEnd::attach(events(), requests(), another(client_bell));
  }
  ClientEnd client_end() const {
    return *ClientEnd::attach(requests(), events(), another(agent_bell));
  }
  /// The same line, mapped at another place.
  Line remapped() const {
    return {.memory = *SharedMemory::attach(*memory.share(Protection::kReadWrite), kBytes,
                                            Protection::kReadWrite),
            .agent_bell = another(agent_bell),
            .client_bell = another(client_bell)};
  }
  std::span<std::byte> requests() const { return memory.bytes().first(kRequestBytes); }
  std::span<std::byte> events() const { return memory.bytes().last(kEventBytes); }

  SharedMemory memory = *SharedMemory::create("forebay-test", kBytes);
  Doorbell agent_bell = *Doorbell::create();
  Doorbell client_bell = *Doorbell::create();

 private:
  static Doorbell another(const Doorbell& bell) {
    return *Doorbell::from(*bell.descriptor().duplicate());
  }
};

/// Sends `count` numbers and receives as many at the same time, sleeping whenever there is nothing
/// to do. False if one is missing, wrong or late.
template <class Out, class In>
bool exchange(Duplex<Out, In>& end, const Doorbell& own, std::uint64_t count) {
  const Deadline deadline = in_a_minute();
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
    const Awaited awaited = sent == count       ? Awaited::kMessage
                            : received == count ? Awaited::kRoom
                                                : Awaited::kEither;
    if (has_moved || !end.may_sleep(awaited)) continue;
    if (!own.wait(deadline)) return false;
    own.clear();
  }
  return true;
}

}  // namespace forebay::shm
