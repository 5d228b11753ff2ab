// SPDX-License-Identifier: Apache-2.0
// Any outcome of fio is handled; the tests create programs of that name.
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

/// A program that reports the requested bytes, at 1 GB/s with one job, else at half of that.
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

/// Each rank has a separate directory and program.
class FioJobs : public testing::Test {
 protected:
  FioJobs() {
    fs::create_directories(directory_of_rank_);
    std::ofstream(directory_of_rank_ / "fio") << kFakeFio;
    fs::permissions(directory_of_rank_ / "fio", fs::perms::owner_all);
    path_ = std::getenv("PATH");
    ::setenv("PATH", (directory_of_rank_.string() + ":" + path_).c_str(), 1);
  }
  ~FioJobs() override {
    ::setenv("PATH", path_.c_str(), 1);
    ::unsetenv("FAKE_FIO_REFUSES");
  }
  FioTunings tune() const {
    return tune_fio_settings(directory_of_rank_ / "files",
                             {.written_bytes = kFioBytes, .read_bytes = kFioBytes});
  }
  static void fail_matching(const char* pattern) { ::setenv("FAKE_FIO_REFUSES", pattern, 1); }

 private:
  const RankTeam team_ = world_team();
  const TeamDirectory directory_{team_, "fio"};
  const fs::path directory_of_rank_ = directory_.path() / std::to_string(team_.rank);
  std::string path_;
};

TEST_F(FioJobs, fastest_setting_is_chosen) {
  const FioTunings choice = tune();
  ASSERT_TRUE(choice.writing.fastest && choice.reading.fastest);
  EXPECT_EQ(choice.writing.fastest->setting.jobs, 1U);
  EXPECT_DOUBLE_EQ(choice.reading.fastest->seconds, kFioBytes / 1e9);
  EXPECT_TRUE(choice.writing.failures.empty());
}

TEST_F(FioJobs, failing_setting_is_skipped) {
  fail_matching("--numjobs=1");
  const FioTunings choice = tune();
  ASSERT_TRUE(choice.writing.fastest && choice.reading.fastest);
  EXPECT_EQ(choice.writing.fastest->setting.jobs, 4U);
  EXPECT_EQ(choice.writing.failures.size(), 5U);
  EXPECT_EQ(failure_reason(choice.writing), "");
}

TEST_F(FioJobs, failure_of_reading_keeps_the_result_of_writing) {
  fail_matching("--rw=read");
  const FioTunings choice = tune();
  EXPECT_TRUE(choice.writing.fastest);
  EXPECT_FALSE(choice.reading.fastest);
  EXPECT_THAT(failure_reason(choice.reading), testing::HasSubstr("run fio"));
}

TEST_F(FioJobs, if_all_fail_the_reason_has_program_and_directory) {
  fail_matching("--name=*");
  const FioTunings choice = tune();
  EXPECT_FALSE(choice.writing.fastest || choice.reading.fastest);
  EXPECT_THAT(failure_reason(choice.writing), testing::HasSubstr("run fio"));
  EXPECT_THAT(failure_reason(choice.writing), testing::HasSubstr("/files"));
  EXPECT_THAT(failure_reason(choice.writing), testing::Not(testing::HasSubstr("--directory")));
}

}  // namespace
}  // namespace forebay::bench::checkpoint
