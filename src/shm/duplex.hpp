// SPDX-License-Identifier: Apache-2.0
// Duplex: one end of the line between a client and its agent, a ring each way and the bell of the
// other end. Here is the only place where rings and bells meet, so that nobody else has to know
// when to ring and what to look at before sleeping.
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

/// What a sleeper of a Duplex wants to be woken for.
enum class Awaited : std::uint8_t { kMessage, kRoom, kEither };

/// How a blocking call of a Duplex waits.
struct Waiting {
  const Doorbell& own;    ///< the bell that the other end rings; it is cleared here
  int interruption = -1;  ///< a descriptor that ends the wait when readable (a pidfd, a channel)
  Deadline deadline = {};
};

/// One end. The other end has the same rings the other way round. One thread at a time, except
/// that other threads may use the same `own` bell's descriptor to wait on. The memory of the rings
/// stays mapped as long as this is used.
template <RingMessage Out, RingMessage In>
class Duplex {
 public:
  /// Attaches to two new rings. Fails with kInvalidArgument: see place_ring().
  static Result<Duplex> attach(std::span<std::byte> out, std::span<std::byte> in, Doorbell other) {
    auto writer = RingWriter<Out>::attach(out);
    if (!writer) return failure(writer.error());
    auto reader = RingReader<In>::attach(in);
    if (!reader) return failure(reader.error());
    return Duplex(*writer, *reader, std::move(other));
  }

  /// kDone, kFull or kBroken. Wakes the other end if it sleeps; never blocks.
  RingOutcome try_push(const Out& message) noexcept {
    const RingOutcome outcome = writer_.try_push(message);
    if (outcome == RingOutcome::kDone && writer_.take_bell_request()) other_.ring();
    return outcome;
  }

  /// kDone, kEmpty or kBroken. Wakes the other end if it waits for room; never blocks.
  RingOutcome try_pop(In& message) noexcept {
    const RingOutcome outcome = reader_.try_pop(message);
    if (outcome == RingOutcome::kDone && reader_.take_bell_request()) other_.ring();
    return outcome;
  }

  /// For an end that waits in a place of its own: asks the other end to ring. True: sleep now.
  /// False: what is awaited is there already (or a ring is broken, which the next attempt tells).
  /// After waking clear the own bell first and try afterwards; it may have been rung for nothing.
  bool may_sleep(Awaited what) noexcept {
    const bool is_empty = what == Awaited::kRoom || reader_.may_sleep();
    const bool is_full = what == Awaited::kMessage || writer_.may_sleep();
    return is_empty && is_full;
  }

  /// As try_push(), but sleeps for room: kDone, kBroken, kFull if the deadline passed,
  /// kInterrupted.
  RingOutcome push(const Out& message, const Waiting& waiting) noexcept {
    return attempt(Awaited::kRoom, waiting, [&] { return try_push(message); });
  }

  /// As try_pop(), but sleeps for a message: kDone, kBroken, kEmpty if the deadline passed,
  /// kInterrupted only when there is no message left.
  RingOutcome pop(In& message, const Waiting& waiting) noexcept {
    return attempt(Awaited::kMessage, waiting, [&] { return try_pop(message); });
  }

 private:
  Duplex(RingWriter<Out> writer, RingReader<In> reader, Doorbell other) noexcept
      : writer_(writer), reader_(reader), other_(std::move(other)) {}

  template <class Try>
  RingOutcome attempt(Awaited what, const Waiting& waiting, const Try& try_once) noexcept {
    const std::array<int, 2> descriptors{waiting.own.descriptor().get(), waiting.interruption};
    for (;;) {
      const RingOutcome outcome = try_once();
      const bool may_wait = outcome == RingOutcome::kFull || outcome == RingOutcome::kEmpty;
      if (!may_wait) return outcome;
      if (!may_sleep(what)) continue;
      const auto woken_by = wait_readable(descriptors, waiting.deadline);
      if (!woken_by) return outcome;
      if (*woken_by != 0) return last_attempt(try_once);
      waiting.own.clear();
    }
  }

  /// Whoever is killed between pushing and ringing leaves a message that nobody was woken for.
  template <class Try>
  static RingOutcome last_attempt(const Try& try_once) noexcept {
    const RingOutcome outcome = try_once();
    const bool is_nothing = outcome == RingOutcome::kFull || outcome == RingOutcome::kEmpty;
    return is_nothing ? RingOutcome::kInterrupted : outcome;
  }

  RingWriter<Out> writer_;
  RingReader<In> reader_;
  Doorbell other_;
};

}  // namespace forebay::shm
