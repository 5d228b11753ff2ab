// SPDX-License-Identifier: Apache-2.0
// What the agent may do to files of a program: nothing that others notice.
#include "tools/run/page_warmer.hpp"

#include <chrono>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/testing.hpp"

namespace forebay::run {
namespace {

using std::chrono::milliseconds;

/// Descriptors of this process that have this file open.
std::size_t open_count(const std::string& path) {
  std::size_t count = 0;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code failed;
    count += std::filesystem::read_symlink(one.path(), failed) == path ? 1 : 0;
  }
  return count;
}

/// Waits at most 10 seconds.
template <class Condition>
bool becomes_true(Condition condition) {
  for (int i = 0; i < 1000 && !condition(); ++i)
    std::this_thread::sleep_for(milliseconds(10));
  return condition();
}

class PageWarmerTest : public ::testing::Test {
 protected:
  PageWarmerTest() { std::ofstream(path_) << std::string(100'000, 'x'); }

  const storage::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "file";
};

TEST_F(PageWarmerTest, idle_file_is_closed_and_opened_again) {
  const auto file = std::make_shared<LazyFile>(path_, FileIds());
  PageWarmer warmer(milliseconds(50));
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(file->open(), nullptr);
    EXPECT_EQ(open_count(path_), 1U);
    warmer.add({file, 0, 4096, 1});
    EXPECT_TRUE(becomes_true([&] { return open_count(path_) == 0; })) << i;
  }
}

TEST_F(PageWarmerTest, idle_file_is_closed_while_others_are_read) {
  const std::string other = directory_ / "other";
  std::ofstream(other) << "x";
  const auto idle = std::make_shared<LazyFile>(path_, FileIds());
  const auto busy = std::make_shared<LazyFile>(other, FileIds());
  PageWarmer warmer(milliseconds(50));
  ASSERT_NE(idle->open(), nullptr);
  warmer.add({idle, 0, 4096, 1});
  EXPECT_TRUE(becomes_true([&] {
    warmer.add({busy, 0, 1, 2});
    return open_count(path_) == 0;
  }));
}

TEST_F(PageWarmerTest, file_of_a_stream_that_ended_is_closed_at_once) {
  auto file = std::make_shared<LazyFile>(path_, FileIds());
  PageWarmer warmer;
  warmer.add({file, 0, 4096, 1});
  EXPECT_TRUE(becomes_true([&] { return open_count(path_) == 1; }));
  file.reset();
  EXPECT_TRUE(becomes_true([&] { return open_count(path_) == 0; }));
}

TEST_F(PageWarmerTest, stop_drops_what_has_not_begun) {
  std::filesystem::resize_file(path_, 64ULL << 20U);
  const auto file = std::make_shared<LazyFile>(path_, FileIds());
  PageWarmer warmer;
  warmer.add({file, 0, 64U << 20U, 1});
  warmer.cancel(1);
  warmer.stop();
  warmer.add({file, 0, 4096, 1});
  EXPECT_LE(warmer.bytes_read(), 64U << 20U);
}

TEST(LazyFileTest, another_file_of_that_name_is_not_read) {
  const storage::TemporaryDirectory directory;
  std::ofstream(directory / "file") << "x";
  LazyFile other(directory / "file", {.device = 1, .inode = 2, .version = {}});
  EXPECT_EQ(other.open(), nullptr);
  LazyFile same(directory / "file", FileIds());
  EXPECT_NE(same.open(), nullptr);
  LazyFile missing(directory / "missing", FileIds());
  EXPECT_EQ(missing.open(), nullptr);
}

TEST(LazyFileTest, descriptor_in_use_stays_open) {
  const storage::TemporaryDirectory directory;
  std::ofstream(directory / "file") << "x";
  LazyFile file(directory / "file", FileIds());
  const auto used = file.open();
  ASSERT_NE(used, nullptr);
  EXPECT_FALSE(file.close_idle(std::chrono::steady_clock::now() - milliseconds(1000)));
  EXPECT_TRUE(file.close_idle(std::chrono::steady_clock::now() + milliseconds(1)));
  char byte = 0;
  EXPECT_EQ(::pread(used->get(), &byte, 1, 0), 1);
}

TEST(LazyFileTest, fifo_is_not_opened) {
  const storage::TemporaryDirectory directory;
  const std::string path = directory / "fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  LazyFile file(path, FileIds());
  EXPECT_EQ(file.open(), nullptr);
  // A writer finds no reader, and none has been there.
  EXPECT_EQ(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
  EXPECT_EQ(errno, ENXIO);
}

TEST(LazyFileTest, access_time_is_not_changed) {
  const storage::TemporaryDirectory directory;
  const std::string path = directory / "file";
  std::ofstream(path) << "x";
  const timespec times[2] = {{.tv_sec = 1'000'000, .tv_nsec = 0},
                             {.tv_sec = 2'000'000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  LazyFile file(path, FileIds());
  const auto opened = file.open();
  ASSERT_NE(opened, nullptr);
  char byte = 0;
  EXPECT_EQ(::pread(opened->get(), &byte, 1, 0), 1);
  struct stat found{};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_atim.tv_sec, 1'000'000);
}

}  // namespace
}  // namespace forebay::run
