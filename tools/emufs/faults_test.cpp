// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/faults.hpp"

#include <cerrno>

#include <gtest/gtest.h>

namespace forebay::emufs {
namespace {

TEST(Faults, no_faults_by_default) {
  Faults faults;
  EXPECT_EQ(faults.read_error(1, {0, 100}), 0);
  EXPECT_EQ(faults.check_write(1, {0, 100}, 0).bytes, 100U);
}

TEST(Faults, eio_affects_only_its_bytes_file_and_operation) {
  Faults faults;
  faults.add({.file = 1, .range = {100, 10}, .operation = FaultOperation::kRead});
  EXPECT_EQ(faults.read_error(1, {0, 100}), 0);
  EXPECT_EQ(faults.read_error(1, {0, 101}), EIO);
  EXPECT_EQ(faults.read_error(1, {109, 1}), EIO);
  EXPECT_EQ(faults.read_error(1, {110, 1}), 0);
  EXPECT_EQ(faults.read_error(2, {100, 10}), 0);
  EXPECT_EQ(faults.check_write(1, {100, 10}, 0).error_number, 0);
}

TEST(Faults, sync_eio_affects_only_syncs) {
  Faults faults;
  faults.add({.file = 1, .range = {0, kAll}, .operation = FaultOperation::kSync});
  faults.add({.file = 2, .range = {0, kAll}, .operation = FaultOperation::kBoth});
  EXPECT_EQ(faults.sync_error(1), EIO);
  EXPECT_EQ(faults.read_error(1, {0, 100}), 0);
  EXPECT_EQ(faults.check_write(1, {0, 100}, 0).bytes, 100U);
  EXPECT_EQ(faults.sync_error(2), 0) << "kBoth covers reads and writes only";
  faults.clear();
  EXPECT_EQ(faults.sync_error(1), 0);
}

TEST(Faults, eio_beyond_limit_fails_with_emfile) {
  Faults faults;
  for (std::size_t i = 0; i < kByteFaultsMax; ++i)
    ASSERT_EQ(faults.add({.file = 1, .range = {i, 1}}), 0);
  EXPECT_EQ(faults.add({.file = 1, .range = {1000, 1}}), EMFILE);
  EXPECT_EQ(faults.read_error(1, {1000, 1}), 0);
  faults.clear();
  EXPECT_EQ(faults.add({.file = 1, .range = {1000, 1}}), 0);
}

TEST(Faults, write_past_space_is_short_then_fails_with_enospc) {
  Faults faults;
  faults.set_space(150);
  EXPECT_EQ(faults.check_write(1, {0, 100}, 0).bytes, 100U);
  EXPECT_EQ(faults.check_write(2, {0, 100}, 0).bytes, 50U);
  EXPECT_EQ(faults.check_write(2, {50, 1}, 0).error_number, ENOSPC);
  EXPECT_EQ(faults.space(), 0U);
  faults.clear();
  EXPECT_EQ(faults.check_write(2, {50, 1}, 0).error_number, 0);
}

TEST(Faults, quota_limits_file_length_of_one_user) {
  Faults faults;
  faults.set_quota(7, 1000);
  EXPECT_EQ(faults.check_write(1, {900, 200}, 7).bytes, 100U);
  EXPECT_EQ(faults.check_write(1, {1000, 1}, 7).error_number, EDQUOT);
  EXPECT_EQ(faults.check_write(1, {2000, 1}, 7).error_number, EDQUOT);
  EXPECT_EQ(faults.check_write(1, {2000, 1}, 8).error_number, 0);
}

TEST(Faults, failed_write_takes_no_space) {
  Faults faults;
  faults.set_space(100);
  faults.add({.file = 1, .range = {0, 1}, .operation = FaultOperation::kWrite});
  EXPECT_EQ(faults.check_write(1, {0, 10}, 0).error_number, EIO);
  EXPECT_EQ(faults.space(), 100U);
}

}  // namespace
}  // namespace forebay::emufs
