// SPDX-License-Identifier: Apache-2.0
// When how much space is reserved, and the true length of files.
#include "stream/output_file_state.hpp"

#include <random>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "storage/memory_file.hpp"

namespace forebay::stream {
namespace {

TEST(SpaceReservation, expected_bytes_are_reserved_at_once_and_no_more) {
  SpaceReservation reservation(Preallocation::kExpected, 0, 1000);
  EXPECT_EQ(reservation.next_reservation({0, 10}), (ByteRange{0, 1000}));
  reservation.mark_reserved({0, 1000});
  EXPECT_FALSE(reservation.next_reservation({0, 10}));
  EXPECT_FALSE(reservation.next_reservation({2000, 10}));
}

TEST(SpaceReservation, growing_file_gets_steps_of_its_own_size) {
  SpaceReservation reservation(Preallocation::kGrowing, 0, 0);
  EXPECT_EQ(reservation.next_reservation({0, 10}), (ByteRange{0, kSpaceStepBytesMin}));
  reservation.mark_reserved({0, kSpaceStepBytesMin});
  EXPECT_FALSE(reservation.next_reservation({0, kSpaceStepBytesMin}));
  reservation.mark_reserved({0, 200_MiB});
  EXPECT_EQ(reservation.next_reservation({200_MiB, 1}), (ByteRange{200_MiB, 200_MiB}));
  reservation.mark_reserved({0, 5_GiB});
  EXPECT_EQ(reservation.next_reservation({5_GiB, 1}), (ByteRange{5_GiB, kSpaceStepBytesMax}));
}

TEST(SpaceReservation, steps_are_limited_to_a_part_of_the_free_space) {
  const SpaceReservation reservation(Preallocation::kGrowing, 0, 0);
  EXPECT_EQ(reservation.next_reservation({0, 10}, 81_MiB), (ByteRange{0, 10_MiB}));
  EXPECT_EQ(reservation.next_reservation({0, 20_MiB}, 81_MiB), (ByteRange{0, 20_MiB}))
      << "at least the written range";
  EXPECT_EQ(reservation.next_reservation({0, 10}, 0), (ByteRange{0, 10}));
  EXPECT_EQ(reservation.next_reservation({0, 10}, 1_GiB), (ByteRange{0, kSpaceStepBytesMin}));
}

TEST(SpaceReservation, without_preallocation_nothing_is_reserved) {
  const SpaceReservation reservation(Preallocation::kNone, 0, 1000);
  EXPECT_FALSE(reservation.next_reservation({0, 10}));
}

TEST(SpaceReservation, failed_step_is_followed_by_exactly_the_written_range) {
  SpaceReservation reservation(Preallocation::kGrowing, 0, 0);
  const ByteRange range{0, 4096};
  EXPECT_EQ(reservation.next_reservation(range)->size, kSpaceStepBytesMin);
  EXPECT_TRUE(reservation.try_smaller(range));
  EXPECT_EQ(reservation.next_reservation(range), range);
  EXPECT_FALSE(reservation.try_smaller(range)) << "no smaller reservation exists";
}

TEST(SpaceReservation, gap_need_not_be_reserved) {
  SpaceReservation reservation(Preallocation::kGrowing, 0, 0);
  const ByteRange far{1ULL << 50U, 4096};
  EXPECT_TRUE(reservation.try_smaller(far));
  EXPECT_EQ(reservation.next_reservation(far), (ByteRange{0, far.end()}));
  EXPECT_TRUE(reservation.try_smaller(far));
  EXPECT_FALSE(reservation.next_reservation(far));
}

TEST(SpaceReservation, missing_space_for_expected_bytes_is_an_error_at_once) {
  SpaceReservation reservation(Preallocation::kGrowing, 0, 1_GiB);
  EXPECT_EQ(reservation.next_reservation({0, 10}), (ByteRange{0, 1_GiB}));
  EXPECT_FALSE(reservation.try_smaller({0, 10}));
}

TEST(SpaceReservation, reservations_are_contiguous_and_end) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 1000; ++round) {
    SpaceReservation reservation(Preallocation::kGrowing, random() % 1000,
                                 random() % 2 * (random() % 300_MiB));
    for (int write = 0; write < 20; ++write) {
      const ByteRange range{random() % 400_MiB, 1 + random() % 16_MiB};
      while (const auto needed = reservation.next_reservation(range)) {
        ASSERT_EQ(needed->offset, reservation.end_bytes());
        ASSERT_FALSE(needed->empty());
        const bool refused = write < 10 && random() % 10 == 0;
        if (refused && !reservation.try_smaller(range)) break;
        if (!refused) reservation.mark_reserved(*needed);
      }
      if (random() % 5 == 0) reservation.truncate(random() % 400_MiB);
    }
  }
}

TEST(OutputFileState, has_the_length_of_its_written_bytes) {
  auto file = std::make_unique<storage::MemoryFile>("memory", std::vector<std::byte>(10'000));
  storage::MemoryFile& raw = *file;
  OutputFileState file_state({.file = std::move(file), .preallocation = Preallocation::kGrowing});
  file_state.reservation.mark_reserved({0, 10'000});
  file_state.note_write({0, 5000});
  ASSERT_TRUE(file_state.set_final_size());
  EXPECT_EQ(*raw.size(), 5000U);
}

TEST(OutputFileState, shared_file_is_never_truncated) {
  auto file = std::make_unique<storage::MemoryFile>("memory", std::vector<std::byte>(10'000));
  storage::MemoryFile& raw = *file;
  OutputFileState file_state(
      {.file = std::move(file), .size_policy = SizePolicy::kNeverTruncate, .is_dirty = true});
  EXPECT_TRUE(file_state.is_dirty);
  file_state.note_write({0, 5000});
  file_state.reservation.mark_failed();
  ASSERT_TRUE(file_state.set_final_size());
  ASSERT_TRUE(file_state.trim_reservation());
  EXPECT_EQ(*raw.size(), 10'000U);
}

TEST(OutputFileState, excess_of_a_failed_reservation_is_freed) {
  auto file = std::make_unique<storage::MemoryFile>("memory", std::vector<std::byte>(5000));
  storage::MemoryFile& raw = *file;
  OutputFileState file_state({.file = std::move(file), .preallocation = Preallocation::kGrowing});
  file_state.reservation.mark_reserved({0, 5000});
  file_state.note_write({0, 3000});
  ASSERT_TRUE(raw.truncate(9000)) << "the part that was reserved";
  file_state.reservation.mark_failed();
  ASSERT_TRUE(file_state.trim_reservation());
  EXPECT_EQ(*raw.size(), 5000U) << "earlier reservations are kept";
  ASSERT_TRUE(raw.truncate(9000));
  file_state.reservation.mark_failed();
  ASSERT_TRUE(file_state.set_final_size());
  EXPECT_EQ(*raw.size(), 3000U);
  EXPECT_FALSE(file_state.reservation.has_excess());
}

TEST(OutputFileState, keeps_existing_content) {
  auto file = std::make_unique<storage::MemoryFile>("memory", std::vector<std::byte>(10'000));
  storage::MemoryFile& raw = *file;
  OutputFileState file_state({.file = std::move(file), .size_bytes = 10'000});
  file_state.note_write({0, 100});
  ASSERT_TRUE(file_state.set_final_size());
  EXPECT_EQ(*raw.size(), 10'000U);
}

}  // namespace
}  // namespace forebay::stream
