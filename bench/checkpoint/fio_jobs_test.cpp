// SPDX-License-Identifier: Apache-2.0
// Whatever fio does here, the benchmark goes on: by programs of that name that a test makes.
#include "bench/checkpoint/fio_jobs.hpp"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/checkpoint/team_testing.hpp"

namespace forebay::bench::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFioBytes = 16ULL << 20U;

/// A program that reports what it was told to move, at 1 GB/s where it has one job, else at half.
constexpr const char* kFakeFio = R"(#!/bin/sh
jobs=1 size=0 rw=write bandwidth=1000000000
for word in "$@"; do
  case $word in
    --numjobs=4) jobs=4 bandwidth=500000000 ;;
    --size=*) size=${word#--size=} ;;
    --rw=*) rw=${word#--rw=} ;;
    --output=*) output=${word#--output=} ;;
  esac
  case $word in
    $FAKE_FIO_REFUSES) exit 3 ;;
  esac
done
part="{\"io_bytes\": $((jobs * size)), \"bw_bytes\": $bandwidth}"
echo "{\"jobs\": [{\"error\": 0, \"$rw\": $part}]}" > "$output"
)";

/// For each rank one of its own.
class FioJobs : public testing::Test {
 protected:
  FioJobs() {
    fs::create_directories(own_);
    std::ofstream(own_ / "fio") << kFakeFio;
    fs::permissions(own_ / "fio", fs::perms::owner_all);
    path_ = std::getenv("PATH");
    ::setenv("PATH", (own_.string() + ":" + path_).c_str(), 1);
  }
  ~FioJobs() override {
    ::setenv("PATH", path_.c_str(), 1);
    ::unsetenv("FAKE_FIO_REFUSES");
  }
  FioChoice choose() const {
    return choose_fio(own_ / "files", {.written_bytes = kFioBytes, .read_bytes = kFioBytes});
  }
  static void refuse(const char* pattern) { ::setenv("FAKE_FIO_REFUSES", pattern, 1); }

 private:
  const Team team_ = whole_team();
  const TeamFolder folder_{team_, "fio"};
  const fs::path own_ = folder_.path() / std::to_string(team_.rank);
  std::string path_;
};

TEST_F(FioJobs, the_fastest_setting_is_chosen) {
  const FioChoice choice = choose();
  ASSERT_TRUE(choice.writing.chosen && choice.reading.chosen);
  EXPECT_EQ(choice.writing.chosen->setting.jobs, 1U);
  EXPECT_DOUBLE_EQ(choice.reading.chosen->seconds, kFioBytes / 1e9);
  EXPECT_TRUE(choice.writing.failed.empty());
}

TEST_F(FioJobs, a_setting_that_fails_is_skipped) {
  refuse("--numjobs=1");
  const FioChoice choice = choose();
  ASSERT_TRUE(choice.writing.chosen && choice.reading.chosen);
  EXPECT_EQ(choice.writing.chosen->setting.jobs, 4U);
  EXPECT_EQ(choice.writing.failed.size(), 5U);
  EXPECT_EQ(why_none(choice.writing), "");
}

TEST_F(FioJobs, where_only_reading_fails_writing_is_compared) {
  refuse("--rw=read");
  const FioChoice choice = choose();
  EXPECT_TRUE(choice.writing.chosen);
  EXPECT_FALSE(choice.reading.chosen);
  EXPECT_THAT(why_none(choice.reading), testing::HasSubstr("run fio"));
}

TEST_F(FioJobs, where_all_fail_the_reason_names_the_program_and_the_folder) {
  refuse("--name=*");
  const FioChoice choice = choose();
  EXPECT_FALSE(choice.writing.chosen || choice.reading.chosen);
  EXPECT_THAT(why_none(choice.writing), testing::HasSubstr("run fio"));
  EXPECT_THAT(why_none(choice.writing), testing::HasSubstr("/files"));
  EXPECT_THAT(why_none(choice.writing), testing::Not(testing::HasSubstr("--directory")));
}

}  // namespace
}  // namespace forebay::bench::checkpoint
