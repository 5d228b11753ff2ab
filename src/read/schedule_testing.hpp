// SPDX-License-Identifier: Apache-2.0
// What tests of the Schedule share: one without agents and tasks, and shorthands for what those do
// to it. For tests only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "read/schedule.hpp"

namespace forebay::read {

using shm::Residency;
using Verdict = Schedule::Verdict;

inline constexpr std::uint64_t kScheduleUnit = 65536;

/// A schedule over `splinters` splinters, and shorthands for what agents and tasks do to it.
struct Bench {
  explicit Bench(std::uint32_t splinters, Schedule::Limits limits)
      : geometry({0, splinters * kScheduleUnit}, kScheduleUnit),
        shape{.splinters = splinters, .slots_max = std::max(limits.slots_max, limits.slots)},
        table_memory(shm::SessionBooks::table_bytes(shape) / sizeof(Line)),
        ledger_memory(shm::SessionBooks::ledger_bytes(shape) / sizeof(Line)),
        table(shm::SessionBooks::begin(shape,
                                       std::as_writable_bytes(std::span(table_memory)),
                                       std::as_writable_bytes(std::span(ledger_memory)))),
        schedule(geometry, table, limits) {}

  /// Loads until the schedule rests; returns what was loaded, in order.
  std::vector<SplinterIndex> run() {
    std::vector<SplinterIndex> loaded;
    Load load;
    while (true) {
      const Verdict verdict = schedule.next(load, now);
      if (verdict == Verdict::kGrow) {
        schedule.grown(schedule.slots() * 2);
        continue;
      }
      last = verdict;
      if (verdict != Verdict::kLoad) return loaded;
      finish(load);
      loaded.push_back(load.splinter);
    }
  }
  void finish(const Load& load, std::uint32_t promised_bytes = 0) {
    schedule.loaded(load, load.bytes.size(), promised_bytes);
  }
  void want(SplinterIndex splinter, Urgency urgency = Urgency::kAsked) {
    schedule.want(splinter, geometry.whole(splinter), urgency, Precision::kWhole);
  }
  bool ready(SplinterIndex splinter) const {
    return table[splinter].load().residency() == Residency::kReady;
  }
  void serve(SplinterIndex splinter, std::uint32_t bytes = kScheduleUnit) {
    ASSERT_TRUE(pin(splinter));
    unpin(splinter, bytes);
  }
  bool pin(SplinterIndex splinter) const {
    return table.ledger().pin(table[splinter], 0) == shm::Ledger::Pin::kHeld;
  }
  void unpin(SplinterIndex splinter, std::uint32_t bytes) const {
    table.ledger().at(0, table[splinter].slot()).remove_pin(bytes);
  }

  /// Somebody reads these splinters in order and waits for each.
  void pass(SplinterIndex first, SplinterIndex end) {
    for (SplinterIndex splinter = first; splinter < end; ++splinter) {
      want(splinter, Urgency::kAwaited);
      run();
      serve(splinter);
    }
  }
  /// Loads the first splinters, each for somebody who waits, is told, and does not come yet.
  void load_promised(SplinterIndex count) {
    Load load;
    for (SplinterIndex splinter = 0; splinter < count; ++splinter) {
      want(splinter, Urgency::kAwaited);
      ASSERT_EQ(schedule.next(load, now), Verdict::kLoad);
      finish(load, kScheduleUnit);
    }
  }

  struct alignas(shm::SessionBooks::kAlignment) Line {
    std::array<std::byte, shm::SessionBooks::kAlignment> bytes{};
  };

  Geometry geometry;
  shm::BooksShape shape;
  std::vector<Line> table_memory;
  std::vector<Line> ledger_memory;
  shm::SessionBooks table;
  Schedule schedule;
  Verdict last = Verdict::kRest;
  TimePoint now;
};

inline Schedule::Limits limits(std::uint32_t slots, std::uint32_t slots_max, std::uint32_t eager) {
  return {.slots = slots,
          .slots_max = slots_max,
          .loads_max = 4,
          .eager_first = eager,
          .eager_max = eager};
}

}  // namespace forebay::read
