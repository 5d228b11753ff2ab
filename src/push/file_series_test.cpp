// SPDX-License-Identifier: Apache-2.0
// next_in_series(): numbers and dates in names.
#include "push/file_series.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace forebay::push {
namespace {

/// The next name, or "-".
std::string next(const std::vector<std::string>& names) {
  return next_in_series(names).value_or("-");
}

TEST(FileSeries, number_has_a_constant_step) {
  EXPECT_EQ(next({"out.0006.h5", "out.0007.h5"}), "out.0008.h5");
  EXPECT_EQ(next({"out.0010.h5", "out.0020.h5", "out.0030.h5"}), "out.0040.h5");
  EXPECT_EQ(next({"x8", "x9"}), "x10");
  EXPECT_EQ(next({"x009", "x008"}), "x007");
  EXPECT_EQ(next({"x101", "x100"}), "x99");
  EXPECT_EQ(next({"0998", "0999"}), "1000");
  EXPECT_EQ(next({"9998", "9999"}), "10000");
  EXPECT_EQ(next({"/data/run12/a_3.bin", "/data/run12/a_4.bin"}), "/data/run12/a_5.bin");
}

TEST(FileSeries, one_of_several_numbers_changes) {
  EXPECT_EQ(next({"rank3/step10/f2.h5", "rank3/step20/f2.h5"}), "rank3/step30/f2.h5");
  EXPECT_EQ(next({"a1_b1", "a2_b2"}), "-");
  EXPECT_EQ(next({"a1_b5", "a2_b10", "a3_b15"}), "a4_b20");
}

TEST(FileSeries, other_names_are_ignored) {
  EXPECT_EQ(next({"a1", "log", "a2", "index.txt", "b7", "a3"}), "a4");
}

TEST(FileSeries, only_the_newest_names_decide) {
  EXPECT_EQ(next({"a1", "a7", "a10", "a20", "a30", "a40"}), "a50");
}

TEST(FileSeries, names_without_rule_have_no_next) {
  EXPECT_EQ(next({}), "-");
  EXPECT_EQ(next({"a1"}), "-");
  EXPECT_EQ(next({"a1", "b2"}), "-");
  EXPECT_EQ(next({"a1", "a1"}), "-");
  EXPECT_EQ(next({"a1", "a2", "a5"}), "-");
  EXPECT_EQ(next({"a1", "a0"}), "-");
  EXPECT_EQ(next({"", ""}), "-");
  EXPECT_EQ(next({"a123456789012345678", "a123456789012345679"}), "-");
}

TEST(FileSeries, dates_follow_the_calendar) {
  EXPECT_EQ(next({"t_2026-11-29.nc", "t_2026-11-30.nc"}), "t_2026-12-01.nc");
  EXPECT_EQ(next({"20280227", "20280228"}), "20280229");
  EXPECT_EQ(next({"20261103T0600.grib", "20261103T1200.grib", "20261103T1800.grib"}),
            "20261104T0000.grib");
  EXPECT_EQ(next({"wrfout_d01_2026-12-31_21:00:00", "wrfout_d01_2026-12-31_22:30:00"}),
            "wrfout_d01_2027-01-01_00:00:00");
  EXPECT_EQ(next({"a20261231235958.h5", "a20261231235959.h5"}), "a20270101000000.h5");
  EXPECT_EQ(next({"2026-03-01", "2026-02-28"}), "2026-02-27");
}

TEST(FileSeries, months_of_different_length_have_a_constant_step) {
  EXPECT_EQ(next({"m_2026-11-01", "m_2026-12-01"}), "m_2027-01-01");
  EXPECT_EQ(next({"20260115", "20260415", "20260715"}), "20261015");
}

TEST(FileSeries, number_beside_a_date_is_a_number) {
  EXPECT_EQ(next({"2026-11-03/part.07", "2026-11-03/part.08"}), "2026-11-03/part.09");
}

TEST(FileSeries, digits_that_are_no_date_are_a_number) {
  EXPECT_EQ(next({"x20261399", "x20261400"}), "x20261401");
  EXPECT_EQ(next({"x00000031", "x00000032"}), "x00000033");
  EXPECT_EQ(next({"x20260230", "x20260231"}), "x20260232");
  EXPECT_EQ(next({"20260101T235959", "20260101T235960"}), "20260101T235961");
  EXPECT_EQ(next({"x18991230", "x18991231"}), "x18991232");
}

}  // namespace
}  // namespace forebay::push
