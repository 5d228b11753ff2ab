// SPDX-License-Identifier: Apache-2.0
// RingPair: one end of the connection between a client and its agent: a ring each way and the
// doorbell of the other end. Only this class combines rings and doorbells: it decides when to ring,
// and what to check before sleeping.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "shm/doorbell.hpp"
#include "shm/readiness.hpp"
#include "shm/ring.hpp"

namespace forebay::shm {

/// Events for which a sleeper of a RingPair is woken.
enum class WakeCondition : std::uint8_t { kMessage, kSpace, kEither };

/// Options of a blocking call of a RingPair.
struct WaitOptions {
  const Doorbell& own;    ///< the doorbell that the other end rings; cleared here
  int interrupt_fd = -1;  ///< a descriptor that ends the wait when readable (a pidfd, a channel)
  Deadline deadline = {};
};

/// One end. The other end has the same rings in reverse. One thread at a time, except that other
/// threads may wait on the descriptor of the same `own` doorbell. The memory of the rings stays
/// mapped as long as this is used.
template <RingMessage Out, RingMessage In>
class RingPair {
 public:
  /// Attaches to two new rings. Fails with kInvalidArgument: see map_ring().
  static Result<RingPair> attach(std::span<std::byte> out,
                                 std::span<std::byte> in,
                                 Doorbell peer_doorbell) {
    auto writer = RingWriter<Out>::attach(out);
    if (!writer) return failure(writer.error());
    auto reader = RingReader<In>::attach(in);
    if (!reader) return failure(reader.error());
    return RingPair(*writer, *reader, std::move(peer_doorbell));
  }

  /// kDone, kFull or kBroken. Wakes the other end if it sleeps; never blocks.
  RingOutcome try_push(const Out& message) noexcept {
    const RingOutcome outcome = writer_.try_push(message);
    if (outcome == RingOutcome::kDone && writer_.take_doorbell_request()) peer_doorbell_.ring();
    return outcome;
  }

  /// kDone, kEmpty or kBroken. Wakes the other end if it waits for room; never blocks.
  RingOutcome try_pop(In& message) noexcept {
    const RingOutcome outcome = reader_.try_pop(message);
    if (outcome == RingOutcome::kDone && reader_.take_doorbell_request()) peer_doorbell_.ring();
    return outcome;
  }

  /// For an end with its own poll loop: requests a doorbell signal from the other end. True: sleep
  /// now. False: the awaited event has occurred (or a ring is broken, which the next attempt
  /// returns). After waking, clear the own doorbell first and try afterwards; wake-ups may be
  /// spurious.
  bool prepare_sleep(WakeCondition what) noexcept {
    const bool can_reader_sleep = what == WakeCondition::kSpace || reader_.prepare_sleep();
    const bool can_writer_sleep = what == WakeCondition::kMessage || writer_.prepare_sleep();
    return can_reader_sleep && can_writer_sleep;
  }

  /// As try_push(), but sleeps for room: kDone, kBroken, kFull if the deadline passed,
  /// kInterrupted.
  RingOutcome push(const Out& message, const WaitOptions& options) noexcept {
    return attempt(WakeCondition::kSpace, options, [&] { return try_push(message); });
  }

  /// As try_pop(), but sleeps for a message: kDone, kBroken, kEmpty if the deadline passed,
  /// kInterrupted only if no message is left.
  RingOutcome pop(In& message, const WaitOptions& options) noexcept {
    return attempt(WakeCondition::kMessage, options, [&] { return try_pop(message); });
  }

 private:
  RingPair(RingWriter<Out> writer, RingReader<In> reader, Doorbell peer_doorbell) noexcept
      : writer_(writer), reader_(reader), peer_doorbell_(std::move(peer_doorbell)) {}

  template <class Try>
  RingOutcome attempt(WakeCondition what,
                      const WaitOptions& options,
                      const Try& try_once) noexcept {
    const std::array<int, 2> descriptors{options.own.descriptor().get(), options.interrupt_fd};
    for (;;) {
      const RingOutcome outcome = try_once();
      const bool should_wait = outcome == RingOutcome::kFull || outcome == RingOutcome::kEmpty;
      if (!should_wait) return outcome;
      if (!prepare_sleep(what)) continue;
      const auto ready_index = wait_readable(descriptors, options.deadline);
      if (!ready_index) return outcome;
      if (*ready_index != 0) return final_attempt(try_once);
      options.own.clear();
    }
  }

  /// A process killed after a push, before it rings the doorbell, leaves a message without a
  /// wake-up: tries once more.
  template <class Try>
  static RingOutcome final_attempt(const Try& try_once) noexcept {
    const RingOutcome outcome = try_once();
    const bool is_blocked = outcome == RingOutcome::kFull || outcome == RingOutcome::kEmpty;
    return is_blocked ? RingOutcome::kInterrupted : outcome;
  }

  RingWriter<Out> writer_;
  RingReader<In> reader_;
  Doorbell peer_doorbell_;
};

}  // namespace forebay::shm
