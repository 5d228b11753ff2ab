// SPDX-License-Identifier: Apache-2.0
#include "tools/run/files_ahead.hpp"

#include <gtest/gtest.h>

namespace forebay::run {
namespace {

using Names = std::vector<std::string>;

Names names(int begin, int end) {
  Names found;
  for (int i = begin; i < end; ++i)
    found.push_back("/m" + std::string(static_cast<std::size_t>(i), 'x'));
  return found;
}

TEST(FilesAhead, planned_files_begin_when_the_process_waits) {
  FilesAhead files({"/a", "/b", "/c"});
  EXPECT_TRUE(files.open("/a").planned.empty());
  EXPECT_EQ(files.wait().planned, (Names{"/b", "/c"}));
  EXPECT_TRUE(files.wait().planned.empty());
  EXPECT_TRUE(files.open("/b").planned.empty());
}

TEST(FilesAhead, planned_files_move_with_the_process) {
  constexpr int kAhead = FilesAhead::kPlannedAhead;
  FilesAhead files(names(0, kAhead + 10));
  EXPECT_EQ(files.wait().planned, names(0, kAhead));
  EXPECT_EQ(files.open(names(2, 3)[0]).planned, names(kAhead, kAhead + 3));
  EXPECT_TRUE(files.open(names(1, 2)[0]).planned.empty());  // behind
  EXPECT_TRUE(files.open("/other").planned.empty());
}

TEST(FilesAhead, next_files_of_a_series_are_returned_once) {
  FilesAhead files({});
  files.close(FilesAhead::Help::kUseful);
  EXPECT_TRUE(files.open("/step-1").series.empty());
  EXPECT_EQ(files.open("/step-2").series, (Names{"/step-3", "/step-4"}));
  EXPECT_EQ(files.open("/step-3").series, Names{"/step-5"});
  EXPECT_TRUE(files.open("/step-3").series.empty());
  files.close(FilesAhead::Help::kNone);
  EXPECT_TRUE(files.open("/step-4").series.empty());
}

TEST(FilesAhead, series_begins_after_the_first_file) {
  FilesAhead files({});
  files.open("/step-1");
  EXPECT_TRUE(files.open("/step-2").series.empty());
  files.close(FilesAhead::Help::kUseful);
  EXPECT_EQ(files.open("/step-3").series, (Names{"/step-4", "/step-5"}));
}

TEST(FilesAhead, process_that_opens_very_many_files_is_followed) {
  FilesAhead files({"/a", "/b"});
  files.close(FilesAhead::Help::kUseful);
  EXPECT_EQ(files.wait().planned, (Names{"/a", "/b"}));
  for (int i = 0; i < 70'000; ++i)
    EXPECT_TRUE(files
                    .open("/file" + std::string(1, static_cast<char>('a' + i % 26)) +
                          std::to_string(i * 7919 % 70'001))
                    .planned.empty());
  EXPECT_TRUE(files.open("/a").planned.empty());
}

}  // namespace
}  // namespace forebay::run
