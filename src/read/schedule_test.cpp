// SPDX-License-Identifier: Apache-2.0
#include "read/schedule.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::read {
namespace {

using shm::Residency;
using Verdict = Schedule::Verdict;

constexpr std::uint64_t kUnit = 65536;

/// A schedule over `splinters` splinters, and shorthands for what agents and tasks do to it.
struct Bench {
  explicit Bench(std::uint32_t splinters, Schedule::Limits limits)
      : geometry({0, splinters * kUnit}, kUnit),
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
  void serve(SplinterIndex splinter, std::uint32_t bytes = kUnit) {
    ASSERT_TRUE(pin(splinter));
    unpin(splinter, bytes);
  }
  bool pin(SplinterIndex splinter) const {
    return table.ledger().pin(table[splinter], 0) == shm::Ledger::Pin::kHeld;
  }
  void unpin(SplinterIndex splinter, std::uint32_t bytes) const {
    table.ledger().at(0, table[splinter].slot()).remove_pin(bytes);
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

Schedule::Limits limits(std::uint32_t slots, std::uint32_t slots_max, std::uint32_t eager) {
  return {.slots = slots,
          .slots_max = slots_max,
          .loads_max = 4,
          .eager_first = eager,
          .eager_max = eager};
}

// An agent that was told of a time that has passed came back at once, for ever.
TEST(Schedule, no_time_to_retry_is_kept_from_before) {
  Bench bench(16, limits(4, 4, 0));
  Load load;
  for (SplinterIndex i = 0; i < 4; ++i) {
    bench.want(i, Urgency::kAwaited);
    ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
    bench.finish(load, kUnit);
  }
  bench.want(9, Urgency::kAwaited);
  ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kRest);
  ASSERT_TRUE(bench.schedule.retry_at());
  for (SplinterIndex i = 0; i < 4; ++i) {
    bench.serve(i);
    bench.want(10 + i, Urgency::kBlocked);
    ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
  }
  ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kRest);  // as much as may be under way
  EXPECT_FALSE(bench.schedule.retry_at());
}

// Ranks of a node that all read all of a file: whoever came second found nothing.
TEST(Schedule, what_a_second_reader_comes_back_for_is_kept_for_both) {
  Schedule::Limits two_readers = limits(4, 4, 0);
  two_readers.readers_max = 2;
  Bench bench(64, two_readers);
  for (SplinterIndex i = 0; i < 16; ++i) {
    bench.want(i, Urgency::kAwaited);
    bench.run();
    bench.serve(i);
  }
  EXPECT_EQ(bench.schedule.readers(), 1U);
  for (SplinterIndex i = 0; i < 8; ++i) {
    bench.want(i, Urgency::kAwaited);  // long gone
    bench.run();
    bench.serve(i);
  }
  EXPECT_EQ(bench.schedule.readers(), 2U);
  bench.want(20, Urgency::kAwaited);
  bench.run();
  bench.serve(20);
  for (SplinterIndex i = 21; i < 24; ++i) {
    bench.want(i, Urgency::kAwaited);
    bench.run();
    EXPECT_TRUE(bench.ready(20));
    bench.serve(i);
    bench.serve(i);
  }
  bench.want(24, Urgency::kAwaited);
  bench.run();
  EXPECT_TRUE(bench.ready(20)) << "others were taken by both";
  bench.serve(20);
}

TEST(Schedule, what_was_kept_for_readers_who_do_not_come_is_retired_early_again) {
  Schedule::Limits two_readers = limits(2, 2, 0);
  two_readers.readers_max = 2;
  Bench bench(256, two_readers);
  const auto pass = [&](SplinterIndex first, SplinterIndex last) {
    for (SplinterIndex i = first; i < last; ++i) {
      bench.want(i, Urgency::kAwaited);
      bench.run();
      bench.serve(i);
    }
  };
  pass(0, 9);
  pass(0, 9);
  ASSERT_EQ(bench.schedule.readers(), 2U);
  pass(100, 150);
  EXPECT_EQ(bench.schedule.readers(), 1U);
}

TEST(Schedule, a_single_reader_who_comes_back_changes_nothing) {
  Bench bench(64, limits(4, 4, 0));
  for (int pass = 0; pass < 3; ++pass) {
    for (SplinterIndex i = 0; i < 16; ++i) {
      bench.want(i, Urgency::kAwaited);
      bench.run();
      bench.serve(i);
    }
  }
  EXPECT_EQ(bench.schedule.readers(), 1U);
}

TEST(Schedule, where_reading_again_is_cheap_the_window_grows_after_losses_only) {
  Schedule::Limits cheap = limits(2, 64, 0);
  cheap.losses_before_growth = 3;
  Bench bench(64, cheap);
  for (SplinterIndex i = 0; i < 8; ++i) {  // six of them are pushed out before they are used up
    bench.want(i, Urgency::kAwaited);
    ASSERT_EQ(bench.run(), std::vector<SplinterIndex>{i});
    bench.serve(i, 100);
    ASSERT_EQ(bench.schedule.slots(), 2U) << i;
  }
  bench.want(8, Urgency::kAwaited);
  bench.run();
  EXPECT_EQ(bench.schedule.slots(), 4U);
}

TEST(Schedule, where_reading_again_is_cheap_held_memory_makes_the_window_grow_at_once) {
  Schedule::Limits cheap = limits(2, 64, 0);
  cheap.losses_before_growth = 1000;
  Bench bench(64, cheap);
  for (SplinterIndex i = 0; i < 3; ++i) {
    bench.want(i, Urgency::kAwaited);
    bench.run();
    ASSERT_TRUE(bench.pin(i));
  }
  EXPECT_EQ(bench.schedule.slots(), 4U);
}

TEST(Schedule, only_wants_of_an_urgency_are_done_if_so_asked) {
  Bench bench(16, limits(4, 4, 4));
  Load load;
  bench.want(5, Urgency::kAwaited);
  EXPECT_EQ(bench.schedule.next(load, bench.now, Urgency::kAwaitedHelpless), Verdict::kRest);
  bench.want(6, Urgency::kAwaitedHelpless);
  ASSERT_EQ(bench.schedule.next(load, bench.now, Urgency::kAwaitedHelpless), Verdict::kLoad);
  EXPECT_EQ(load.splinter, 6U);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{5, 0, 1}));
}

TEST(Schedule, reads_ahead_up_to_the_limit_and_no_further) {
  Bench bench(100, limits(8, 8, 3));
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{0, 1, 2}));
  bench.serve(0);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{3}));
}

TEST(Schedule, reading_ahead_grows_with_success) {
  Schedule::Limits wide = limits(16, 16, 8);
  wide.eager_first = 2;
  Bench bench(100, wide);
  EXPECT_EQ(bench.run().size(), 2U);
  bench.serve(0);
  EXPECT_EQ(bench.run().size(), 3U);  // four ahead now, one of them there already
  bench.serve(1);
  bench.run();
  EXPECT_EQ(bench.schedule.eager_limit(), 8U);
}

TEST(Schedule, demand_comes_before_eager_reading) {
  Bench bench(100, limits(8, 8, 2));
  bench.want(50);
  bench.want(40);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{50, 40, 0, 1}));
}

TEST(Schedule, the_more_urgent_comes_first) {
  Bench bench(100, limits(8, 8, 0));
  bench.want(1, Urgency::kHint);
  bench.want(2, Urgency::kAsked);
  bench.want(3, Urgency::kAwaited);
  bench.want(4, Urgency::kBlocked);
  bench.want(1, Urgency::kBlocked);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{4, 1, 3, 2}));
}

TEST(Schedule, consecutive_splinters_lie_side_by_side_around_the_end_of_the_window) {
  Bench bench(64, limits(8, 8, 2));
  for (SplinterIndex splinter = 0; splinter + 1 < 40; ++splinter) {
    bench.run();
    ASSERT_TRUE(bench.ready(splinter));
    ASSERT_TRUE(bench.ready(splinter + 1));
    EXPECT_EQ(bench.table[splinter + 1].slot(), (bench.table[splinter].slot() + 1) % 8) << splinter;
    bench.serve(splinter);
  }
}

TEST(Schedule, two_streams_do_not_take_each_other_s_neighbours) {
  Bench bench(64, limits(16, 16, 0));
  bench.want(0);
  bench.want(32);
  bench.run();
  for (SplinterIndex step = 1; step < 5; ++step) {
    bench.want(step);
    bench.want(32 + step);
    bench.run();
    EXPECT_EQ(bench.table[step].slot(), (bench.table[step - 1].slot() + 1) % 16);
    EXPECT_EQ(bench.table[32 + step].slot(), (bench.table[31 + step].slot() + 1) % 16);
  }
}

TEST(Schedule, what_was_read_ahead_makes_room_for_demand) {
  Bench bench(100, limits(4, 4, 4));
  EXPECT_EQ(bench.run().size(), 4U);
  bench.want(90);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{90}));
  EXPECT_TRUE(bench.ready(0));  // wanted first, kept longest
  EXPECT_FALSE(bench.ready(3));
}

TEST(Schedule, what_others_asked_for_is_kept_from_those_who_only_ask) {
  Bench bench(100, limits(4, 4, 0));
  for (SplinterIndex splinter = 0; splinter < 6; ++splinter)
    bench.want(splinter);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{0, 1, 2, 3}));
  EXPECT_TRUE(bench.schedule.needs_slot());
  bench.serve(0);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{4}));
}

TEST(Schedule, who_waits_pushes_out_what_nobody_takes) {
  Bench bench(100, limits(4, 4, 0));
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter)
    bench.want(splinter);
  bench.run();
  bench.want(9, Urgency::kAwaited);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{9}));
  EXPECT_FALSE(bench.ready(0));
}

TEST(Schedule, only_a_blocked_thread_pushes_out_what_others_were_told_of) {
  Bench bench(100, limits(2, 2, 0));
  Load load;
  for (SplinterIndex splinter = 0; splinter < 2; ++splinter) {
    bench.want(splinter, Urgency::kAwaited);
    ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
    bench.finish(load, kUnit);
  }
  bench.want(7, Urgency::kAwaited);
  EXPECT_TRUE(bench.run().empty());
  bench.want(7, Urgency::kBlocked);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{7}));
}

TEST(Schedule, who_waits_loses_patience_with_those_who_were_told_and_do_not_come) {
  Bench bench(100, limits(2, 2, 0));
  Load load;
  for (SplinterIndex splinter = 0; splinter < 2; ++splinter) {
    bench.want(splinter, Urgency::kAwaited);
    ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
    bench.finish(load, kUnit);
  }
  bench.want(7, Urgency::kAwaited);
  EXPECT_TRUE(bench.run().empty());
  ASSERT_TRUE(bench.schedule.retry_at());
  bench.now = *bench.schedule.retry_at();
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{7}));
  EXPECT_FALSE(bench.schedule.retry_at());
}

// Patience once began anew with each splinter that was pushed out, so that a thousand streams went
// on at the pace of one splinter each 5 ms.
TEST(Schedule, patience_ends_for_all_who_were_told_at_the_same_time) {
  Bench bench(100, limits(4, 4, 0));
  Load load;
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter) {
    bench.want(splinter, Urgency::kAwaited);
    ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
    bench.finish(load, kUnit);
    bench.serve(splinter, 100);  // one of those who were told took its part, the others never come
  }
  for (SplinterIndex splinter = 7; splinter < 11; ++splinter)
    bench.want(splinter, Urgency::kAwaited);
  EXPECT_TRUE(bench.run().empty());
  bench.now = *bench.schedule.retry_at();
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{7, 8, 9, 10}));
}

TEST(Schedule, window_grows_only_for_those_who_wait) {
  Bench bench(100, limits(2, 8, 0));
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter)
    bench.want(splinter);
  bench.run();
  EXPECT_EQ(bench.schedule.slots(), 2U);
  bench.want(3, Urgency::kAwaited);
  bench.run();
  EXPECT_EQ(bench.schedule.slots(), 4U);
}

TEST(Schedule, streaming_through_needs_no_growth) {
  Bench bench(1000, limits(8, 256, 4));
  for (SplinterIndex splinter = 0; splinter < 1000; ++splinter) {
    bench.run();
    ASSERT_TRUE(bench.ready(splinter));
    bench.serve(splinter);
  }
  EXPECT_EQ(bench.schedule.slots(), 8U);
  EXPECT_EQ(bench.schedule.rereads(), 0U);
}

TEST(Schedule, everything_held_by_views_starves_a_waiting_request_instead_of_hanging) {
  Bench bench(100, limits(2, 2, 2));
  bench.run();
  ASSERT_TRUE(bench.pin(0));
  ASSERT_TRUE(bench.pin(1));
  bench.want(5);
  Load load;
  EXPECT_EQ(bench.schedule.next(load, bench.now), Verdict::kRest);  // nobody waits yet
  bench.want(5, Urgency::kAwaited);
  EXPECT_EQ(bench.schedule.next(load, bench.now), Verdict::kStarved);
  EXPECT_EQ(load.splinter, 5U);
  bench.schedule.forget(5);
  EXPECT_EQ(bench.table[5].load().residency(), Residency::kAbsent);
  bench.unpin(0, 0);
  bench.want(5, Urgency::kAwaited);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{5}));
}

TEST(Schedule, an_exact_want_loads_only_its_pages_and_is_extended_later) {
  Bench bench(10, limits(4, 4, 0));
  bench.schedule.want(3, {10'000, 12'000}, Urgency::kAsked, Precision::kExact);
  Load load;
  ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
  EXPECT_EQ(load.bytes, (ValidBytes{8192, 12288}));
  bench.finish(load);
  EXPECT_EQ(bench.table[3].valid(), (ValidBytes{8192, 12288}));

  bench.schedule.want(3, {4000, 20'000}, Urgency::kAsked, Precision::kExact);
  ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
  EXPECT_TRUE(load.extends);
  EXPECT_EQ(load.bytes, (ValidBytes{0, 8192}));
  EXPECT_TRUE(bench.ready(3));  // what is there can be used meanwhile
  bench.finish(load);
  ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
  EXPECT_EQ(load.bytes, (ValidBytes{12288, 20480}));
  bench.finish(load);
  EXPECT_EQ(bench.table[3].valid(), (ValidBytes{0, 20480}));
  EXPECT_FALSE(bench.schedule.wants(3));
}

TEST(Schedule, a_splinter_that_failed_leaves_its_slot) {
  Bench bench(10, limits(1, 1, 0));
  bench.want(3);
  Load load;
  ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
  bench.schedule.failed(load);
  EXPECT_EQ(bench.table[3].load().residency(), Residency::kAbsent);
  bench.want(4);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{4}));
}

TEST(Schedule, a_short_load_says_so_and_keeps_what_came) {
  Bench bench(10, limits(4, 4, 0));
  bench.want(3);
  Load load;
  ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
  EXPECT_FALSE(bench.schedule.loaded(load, 1000, 1000));
  EXPECT_EQ(bench.table[3].valid(), (ValidBytes{0, 1000}));
  EXPECT_FALSE(bench.schedule.wants(3));
}

TEST(Schedule, a_cache_keeps_what_was_used_and_drops_the_longest_unused) {
  Schedule::Limits cache = limits(3, 3, 0);
  cache.retirement = Retirement::kCache;
  Bench bench(10, cache);
  for (SplinterIndex splinter = 0; splinter < 3; ++splinter) {
    bench.want(splinter);
    bench.run();
    bench.serve(splinter);
  }
  bench.run();
  bench.serve(0);
  bench.want(5, Urgency::kAwaited);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{5}));
  EXPECT_TRUE(bench.ready(0));
  EXPECT_FALSE(bench.ready(1));
}

TEST(Schedule, parts_used_at_random_end_the_loading_of_whole_splinters) {
  Bench bench(1000, limits(4, 4, 0));
  Load load;
  for (SplinterIndex i = 0; i < 40; ++i) {
    const SplinterIndex splinter = i * 7 % 1000;
    bench.schedule.want(splinter, {0, 4096}, Urgency::kBlocked, Precision::kWhole);
    ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
    bench.finish(load);
    bench.serve(splinter, 4096);
  }
  EXPECT_EQ(load.bytes.size(), 4096U);
}

// Whatever tasks do, invariants hold: no slot has two owners, nothing pinned moves, every blocked
// want is served.
TEST(Schedule, random_walks_keep_the_invariants) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const auto count = static_cast<std::uint32_t>(1 + random() % 60);
    const auto slots = static_cast<std::uint32_t>(1 + random() % 8);
    Schedule::Limits wild = limits(slots, slots * 2, static_cast<std::uint32_t>(random() % 5));
    if (random() % 2 == 0) wild.retirement = Retirement::kCache;
    Bench bench(count, wild);
    std::vector<Load> under_way;
    std::multiset<SplinterIndex> pinned;
    for (int step = 0; step < 2000; ++step) {
      const auto splinter = static_cast<SplinterIndex>(random() % count);
      switch (random() % 6) {
        case 0:
          bench.schedule.want(splinter, {static_cast<std::uint32_t>(random() % 30'000), 30'001},
                              static_cast<Urgency>(random() % 4),
                              random() % 2 == 0 ? Precision::kExact : Precision::kWhole);
          break;
        case 1:
        case 2: {
          Load load;
          const Verdict verdict = bench.schedule.next(load, bench.now);
          if (verdict == Verdict::kLoad) under_way.push_back(load);
          if (verdict == Verdict::kGrow)
            bench.schedule.grown(bench.schedule.slots() + static_cast<std::uint32_t>(random() % 2));
          if (verdict == Verdict::kStarved) bench.schedule.forget(load.splinter);
          break;
        }
        case 3:
          if (under_way.empty()) break;
          std::swap(under_way[random() % under_way.size()], under_way.back());
          if (random() % 8 == 0) {
            bench.schedule.failed(under_way.back());
          } else {
            bench.finish(under_way.back(), random() % 2 == 0);
          }
          under_way.pop_back();
          break;
        case 4:
          if (bench.pin(splinter)) pinned.insert(splinter);
          break;
        default:
          if (pinned.empty()) break;
          bench.unpin(*pinned.begin(), static_cast<std::uint32_t>(random() % kUnit));
          pinned.erase(pinned.begin());
      }
      std::set<std::uint32_t> owned;
      for (SplinterIndex i = 0; i < count; ++i) {
        const auto residency = bench.table[i].load().residency();
        if (residency < Residency::kLoading) continue;
        ASSERT_TRUE(owned.insert(bench.table[i].slot()).second)
            << "seed " << seed << " step " << step;
        ASSERT_LT(bench.table[i].slot(), bench.schedule.slots());
      }
      for (const SplinterIndex held : pinned)
        ASSERT_TRUE(bench.ready(held)) << "seed " << seed << " step " << step;
    }
    for (const SplinterIndex held : pinned)
      bench.unpin(held, 0);
    for (const Load& load : under_way)
      bench.finish(load);
    const auto wanted = static_cast<SplinterIndex>(random() % count);
    bench.want(wanted, Urgency::kBlocked);
    const bool was_ready = bench.ready(wanted);
    const std::vector<SplinterIndex> loaded = bench.run();
    EXPECT_TRUE(was_ready || std::count(loaded.begin(), loaded.end(), wanted) > 0)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace forebay::read
