// SPDX-License-Identifier: Apache-2.0
// How much space is reserved when, and that a file has its true length however it was written.
#include "stream/target.hpp"

#include <random>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "storage/memory_file.hpp"

namespace forebay::stream {
namespace {

TEST(Space, what_is_expected_is_reserved_at_once_and_nothing_more) {
  Space space(Preallocation::kExpected, 0, 1000);
  EXPECT_EQ(space.needed({0, 10}), (ByteRange{0, 1000}));
  space.reserved({0, 1000});
  EXPECT_FALSE(space.needed({0, 10}));
  EXPECT_FALSE(space.needed({2000, 10}));
}

TEST(Space, a_growing_file_gets_steps_as_large_as_itself) {
  Space space(Preallocation::kGrowing, 0, 0);
  EXPECT_EQ(space.needed({0, 10}), (ByteRange{0, kSpaceStepBytesMin}));
  space.reserved({0, kSpaceStepBytesMin});
  EXPECT_FALSE(space.needed({0, kSpaceStepBytesMin}));
  space.reserved({0, 200_MiB});
  EXPECT_EQ(space.needed({200_MiB, 1}), (ByteRange{200_MiB, 200_MiB}));
  space.reserved({0, 5_GiB});
  EXPECT_EQ(space.needed({5_GiB, 1}), (ByteRange{5_GiB, kSpaceStepBytesMax}));
}

TEST(Space, steps_are_no_more_than_a_part_of_what_is_free) {
  const Space space(Preallocation::kGrowing, 0, 0);
  EXPECT_EQ(space.needed({0, 10}, 81_MiB), (ByteRange{0, 10_MiB}));
  EXPECT_EQ(space.needed({0, 20_MiB}, 81_MiB), (ByteRange{0, 20_MiB})) << "what is written itself";
  EXPECT_EQ(space.needed({0, 10}, 0), (ByteRange{0, 10}));
  EXPECT_EQ(space.needed({0, 10}, 1_GiB), (ByteRange{0, kSpaceStepBytesMin}));
}

TEST(Space, without_preallocation_nothing_is_reserved) {
  const Space space(Preallocation::kNone, 0, 1000);
  EXPECT_FALSE(space.needed({0, 10}));
}

TEST(Space, where_there_is_no_room_for_a_step_there_may_be_for_what_is_written) {
  Space space(Preallocation::kGrowing, 0, 0);
  const ByteRange range{0, 4096};
  EXPECT_EQ(space.needed(range)->size, kSpaceStepBytesMin);
  EXPECT_TRUE(space.ask_for_less(range));
  EXPECT_EQ(space.needed(range), range);
  EXPECT_FALSE(space.ask_for_less(range)) << "that was all there is to give up";
}

TEST(Space, a_gap_need_not_fit) {
  Space space(Preallocation::kGrowing, 0, 0);
  const ByteRange far{1ULL << 50U, 4096};
  EXPECT_TRUE(space.ask_for_less(far));
  EXPECT_EQ(space.needed(far), (ByteRange{0, far.end()}));
  EXPECT_TRUE(space.ask_for_less(far));
  EXPECT_FALSE(space.needed(far));
}

TEST(Space, a_disk_too_small_for_what_is_expected_is_an_error_at_once) {
  Space space(Preallocation::kGrowing, 0, 1_GiB);
  EXPECT_EQ(space.needed({0, 10}), (ByteRange{0, 1_GiB}));
  EXPECT_FALSE(space.ask_for_less({0, 10}));
}

TEST(Space, what_is_needed_begins_where_the_last_ended_and_comes_to_an_end) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 1000; ++round) {
    Space space(Preallocation::kGrowing, random() % 1000, random() % 2 * (random() % 300_MiB));
    for (int write = 0; write < 20; ++write) {
      const ByteRange range{random() % 400_MiB, 1 + random() % 16_MiB};
      while (const auto needed = space.needed(range)) {
        ASSERT_EQ(needed->offset, space.end_bytes());
        ASSERT_FALSE(needed->empty());
        const bool refused = write < 10 && random() % 10 == 0;
        if (refused && !space.ask_for_less(range)) break;
        if (!refused) space.reserved(*needed);
      }
      if (random() % 5 == 0) space.cut(random() % 400_MiB);
    }
  }
}

TEST(Target, has_the_length_of_what_belongs_to_it) {
  auto file = std::make_unique<storage::MemoryFile>("memory", std::vector<std::byte>(10'000));
  storage::MemoryFile& raw = *file;
  Target target({.file = std::move(file), .preallocation = Preallocation::kGrowing});
  target.space.reserved({0, 10'000});
  target.note_write({0, 5000});
  ASSERT_TRUE(target.cut());
  EXPECT_EQ(*raw.size(), 5000U);
}

TEST(Target, that_others_write_to_as_well_is_never_cut) {
  auto file = std::make_unique<storage::MemoryFile>("memory", std::vector<std::byte>(10'000));
  storage::MemoryFile& raw = *file;
  Target target({.file = std::move(file), .length = Length::kLeftAlone, .is_dirty = true});
  EXPECT_TRUE(target.is_dirty);
  target.note_write({0, 5000});
  target.space.failed();
  ASSERT_TRUE(target.cut());
  ASSERT_TRUE(target.cut_back());
  EXPECT_EQ(*raw.size(), 10'000U);
}

TEST(Target, gives_back_what_a_reservation_that_failed_has_left) {
  auto file = std::make_unique<storage::MemoryFile>("memory", std::vector<std::byte>(5000));
  storage::MemoryFile& raw = *file;
  Target target({.file = std::move(file), .preallocation = Preallocation::kGrowing});
  target.space.reserved({0, 5000});
  target.note_write({0, 3000});
  ASSERT_TRUE(raw.truncate(9000)) << "as far as it got";
  target.space.failed();
  ASSERT_TRUE(target.cut_back());
  EXPECT_EQ(*raw.size(), 5000U) << "what was reserved before is still of use";
  ASSERT_TRUE(raw.truncate(9000));
  target.space.failed();
  ASSERT_TRUE(target.cut());
  EXPECT_EQ(*raw.size(), 3000U);
  EXPECT_FALSE(target.space.has_leftovers());
}

TEST(Target, keeps_what_it_had) {
  auto file = std::make_unique<storage::MemoryFile>("memory", std::vector<std::byte>(10'000));
  storage::MemoryFile& raw = *file;
  Target target({.file = std::move(file), .size_bytes = 10'000});
  target.note_write({0, 100});
  ASSERT_TRUE(target.cut());
  EXPECT_EQ(*raw.size(), 10'000U);
}

}  // namespace
}  // namespace forebay::stream
