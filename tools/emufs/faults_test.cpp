// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/faults.hpp"

#include <cerrno>

#include <gtest/gtest.h>

namespace forebay::emufs {
namespace {

TEST(Faults, none_are_in_force_at_first) {
  Faults faults;
  EXPECT_EQ(faults.on_read(1, {0, 100}), 0);
  EXPECT_EQ(faults.on_write(1, {0, 100}, 0).bytes, 100U);
}

TEST(Faults, eio_touches_its_bytes_its_file_and_its_direction) {
  Faults faults;
  faults.add({.file = 1, .range = {100, 10}, .on = FaultOn::kRead});
  EXPECT_EQ(faults.on_read(1, {0, 100}), 0);
  EXPECT_EQ(faults.on_read(1, {0, 101}), EIO);
  EXPECT_EQ(faults.on_read(1, {109, 1}), EIO);
  EXPECT_EQ(faults.on_read(1, {110, 1}), 0);
  EXPECT_EQ(faults.on_read(2, {100, 10}), 0);
  EXPECT_EQ(faults.on_write(1, {100, 10}, 0).error_number, 0);
}

TEST(Faults, eio_of_syncs_is_of_syncs_alone) {
  Faults faults;
  faults.add({.file = 1, .range = {0, all}, .on = FaultOn::kSync});
  faults.add({.file = 2, .range = {0, all}, .on = FaultOn::kBoth});
  EXPECT_EQ(faults.on_sync(1), EIO);
  EXPECT_EQ(faults.on_read(1, {0, 100}), 0);
  EXPECT_EQ(faults.on_write(1, {0, 100}, 0).bytes, 100U);
  EXPECT_EQ(faults.on_sync(2), 0) << "reading and writing are both";
  faults.clear();
  EXPECT_EQ(faults.on_sync(1), 0);
}

TEST(Faults, eio_is_refused_beyond_the_most_that_are_held) {
  Faults faults;
  for (std::size_t i = 0; i < kByteFaultsMax; ++i)
    ASSERT_EQ(faults.add({.file = 1, .range = {i, 1}}), 0);
  EXPECT_EQ(faults.add({.file = 1, .range = {1000, 1}}), EMFILE);
  EXPECT_EQ(faults.on_read(1, {1000, 1}), 0);
  faults.clear();
  EXPECT_EQ(faults.add({.file = 1, .range = {1000, 1}}), 0);
}

TEST(Faults, space_runs_out_where_it_ends_and_not_before) {
  Faults faults;
  faults.set_space(150);
  EXPECT_EQ(faults.on_write(1, {0, 100}, 0).bytes, 100U);
  EXPECT_EQ(faults.on_write(2, {0, 100}, 0).bytes, 50U);
  EXPECT_EQ(faults.on_write(2, {50, 1}, 0).error_number, ENOSPC);
  EXPECT_EQ(faults.space(), 0U);
  faults.clear();
  EXPECT_EQ(faults.on_write(2, {50, 1}, 0).error_number, 0);
}

TEST(Faults, a_quota_is_of_one_user_and_of_the_length_of_a_file) {
  Faults faults;
  faults.set_quota(7, 1000);
  EXPECT_EQ(faults.on_write(1, {900, 200}, 7).bytes, 100U);
  EXPECT_EQ(faults.on_write(1, {1000, 1}, 7).error_number, EDQUOT);
  EXPECT_EQ(faults.on_write(1, {2000, 1}, 7).error_number, EDQUOT);
  EXPECT_EQ(faults.on_write(1, {2000, 1}, 8).error_number, 0);
}

TEST(Faults, a_write_that_fails_takes_no_space) {
  Faults faults;
  faults.set_space(100);
  faults.add({.file = 1, .range = {0, 1}, .on = FaultOn::kWrite});
  EXPECT_EQ(faults.on_write(1, {0, 10}, 0).error_number, EIO);
  EXPECT_EQ(faults.space(), 100U);
}

}  // namespace
}  // namespace forebay::emufs
