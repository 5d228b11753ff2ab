// SPDX-License-Identifier: Apache-2.0
// What a Schedule loads, in which order and into which slots, and that it keeps its invariants
// whatever tasks do.
#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "read/schedule_testing.hpp"

namespace forebay::read {
namespace {

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

// Tasks that ask for everything run ahead of reading ahead: it read again what they had had.
TEST(Schedule, what_was_there_once_is_not_read_ahead) {
  Bench bench(8, limits(2, 2, 1));
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{0}));
  bench.serve(0);
  for (SplinterIndex i = 1; i < 8; ++i) {
    bench.want(i);
    bench.run();
    bench.serve(i);
  }
  EXPECT_TRUE(bench.run().empty());
  EXPECT_EQ(bench.schedule.rereads(), 0U);
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

TEST(Schedule, reading_ahead_ends_where_splinters_are_pushed_out_unasked) {
  Schedule::Limits wide = limits(8, 8, 4);
  wide.eager_first = 4;
  Bench bench(1000, wide);
  bench.run();
  std::uint32_t loads_of_others = 0;
  for (SplinterIndex i = 0; i < 100; ++i) {
    const SplinterIndex splinter = 100 + i * 7;
    bench.want(splinter, Urgency::kBlocked);
    loads_of_others += static_cast<std::uint32_t>(bench.run().size()) - 1;
    bench.serve(splinter, kScheduleUnit / 2);
  }
  EXPECT_EQ(bench.schedule.eager_limit(), 0U);
  EXPECT_LT(loads_of_others, 16U);
}

TEST(Schedule, reading_ahead_begins_again_where_a_reader_reads_on) {
  Schedule::Limits wide = limits(8, 8, 4);
  wide.eager_first = 4;
  Bench bench(1000, wide);
  bench.run();
  for (SplinterIndex i = 0; i < 40; ++i) {
    bench.want(100 + i * 7, Urgency::kBlocked);
    bench.run();
    bench.serve(100 + i * 7, kScheduleUnit / 2);
  }
  ASSERT_EQ(bench.schedule.eager_limit(), 0U);
  for (SplinterIndex i = 0; i < 40; ++i)
    if (bench.ready(100 + i * 7)) bench.serve(100 + i * 7, kScheduleUnit / 2);
  bench.pass(500, 510);
  EXPECT_GT(bench.schedule.eager_limit(), 0U);
  EXPECT_TRUE(bench.ready(510)) << "ahead of the reader, not at the beginning of the file";
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

TEST(Schedule, halves_used_at_random_end_the_loading_of_whole_splinters) {
  Bench bench(1000, limits(4, 4, 0));
  Load load;
  for (SplinterIndex i = 0; i < 40; ++i) {
    const SplinterIndex splinter = i * 7 % 1000;
    bench.schedule.want(splinter, {0, kScheduleUnit / 2}, Urgency::kBlocked, Precision::kWhole);
    ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
    bench.finish(load);
    bench.serve(splinter, kScheduleUnit / 2);
  }
  EXPECT_EQ(load.bytes.size(), kScheduleUnit / 2);
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
          bench.unpin(*pinned.begin(), static_cast<std::uint32_t>(random() % kScheduleUnit));
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
