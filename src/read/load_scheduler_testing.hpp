// SPDX-License-Identifier: Apache-2.0
// Shared by tests of the LoadScheduler: a scheduler without agents and tasks, and shorthands for
// their calls. For tests only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "read/load_scheduler.hpp"

namespace forebay::read {

using shm::Residency;
using Decision = LoadScheduler::Decision;

inline constexpr std::uint64_t kScheduleUnit = 65536;

/// A scheduler of `splinters` splinters, and shorthands for the calls of agents and tasks.
struct SchedulerFixture {
  explicit SchedulerFixture(std::uint32_t splinters, LoadScheduler::Limits limits)
      : geometry({0, splinters * kScheduleUnit}, kScheduleUnit),
        shape{.splinters = splinters, .slots_max = std::max(limits.slots_max, limits.slots)},
        table_memory(shm::SessionControlBlock::table_bytes(shape) / sizeof(CacheLine)),
        ref_count_memory(shm::SessionControlBlock::ref_count_bytes(shape) / sizeof(CacheLine)),
        control_block(
            shm::SessionControlBlock::create(shape,
                                             std::as_writable_bytes(std::span(table_memory)),
                                             std::as_writable_bytes(std::span(ref_count_memory)))),
        scheduler(geometry, control_block, limits) {}

  /// Loads until the scheduler is idle; returns the loaded splinters, in order.
  std::vector<SplinterIndex> load_until_idle() {
    std::vector<SplinterIndex> loaded;
    Load load;
    while (true) {
      const Decision decision = scheduler.next(load, now);
      if (decision == Decision::kGrow) {
        scheduler.set_slot_count(scheduler.slots() * 2);
        continue;
      }
      last = decision;
      if (decision != Decision::kLoad) return loaded;
      finish(load);
      loaded.push_back(load.splinter);
    }
  }
  void finish(const Load& load, std::uint32_t reserved_bytes = 0) {
    scheduler.complete_load(load, load.bytes.size(), reserved_bytes);
  }
  void request(SplinterIndex splinter, LoadPriority priority = LoadPriority::kRequested) {
    scheduler.add_request(splinter, geometry.full_part(splinter), priority,
                          LoadGranularity::kSplinter);
  }
  bool is_ready(SplinterIndex splinter) const {
    return control_block[splinter].load().residency() == Residency::kReady;
  }
  void serve(SplinterIndex splinter, std::uint32_t bytes = kScheduleUnit) {
    ASSERT_TRUE(pin(splinter));
    unpin(splinter, bytes);
  }
  bool pin(SplinterIndex splinter) const {
    return control_block.ref_counts().pin(control_block[splinter], 0) ==
           shm::RefCounts::PinResult::kPinned;
  }
  void unpin(SplinterIndex splinter, std::uint32_t bytes) const {
    control_block.ref_counts().at(0, control_block[splinter].slot()).remove_pin(bytes);
  }

  /// Reads these splinters in order and waits for each.
  void read_in_order(SplinterIndex first, SplinterIndex end) {
    for (SplinterIndex splinter = first; splinter < end; ++splinter) {
      request(splinter, LoadPriority::kAwaited);
      load_until_idle();
      serve(splinter);
    }
  }
  /// Loads the first splinters, each for a waiter that is signaled and does not take the bytes yet.
  void load_reserved(SplinterIndex count) {
    Load load;
    for (SplinterIndex splinter = 0; splinter < count; ++splinter) {
      request(splinter, LoadPriority::kAwaited);
      ASSERT_EQ(scheduler.next(load, now), Decision::kLoad);
      finish(load, kScheduleUnit);
    }
  }

  struct alignas(shm::SessionControlBlock::kAlignment) CacheLine {
    std::array<std::byte, shm::SessionControlBlock::kAlignment> bytes{};
  };

  Geometry geometry;
  shm::ControlBlockShape shape;
  std::vector<CacheLine> table_memory;
  std::vector<CacheLine> ref_count_memory;
  shm::SessionControlBlock control_block;
  LoadScheduler scheduler;
  Decision last = Decision::kIdle;
  TimePoint now;
};

inline LoadScheduler::Limits limits(std::uint32_t slots,
                                    std::uint32_t slots_max,
                                    std::uint32_t readahead) {
  return {.slots = slots,
          .slots_max = slots_max,
          .loads_max = 4,
          .readahead_initial = readahead,
          .readahead_max = readahead};
}

}  // namespace forebay::read
