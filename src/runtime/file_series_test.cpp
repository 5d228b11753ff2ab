// SPDX-License-Identifier: Apache-2.0
// Numbered files that sessions on demand read one after the other.
#include "runtime/file_series.hpp"

#include <forebay/runtime.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "runtime/testing.hpp"

namespace forebay {
namespace {

constexpr std::uint64_t kFileBytes = 300'000;

const ReadPlan kPlan{.mode = Mode::kOnDemand};
/// Pushes also what is in the page cache.
const ReadPlan kPushingPlan{.mode = Mode::kOnDemand, .readahead_bytes = 4_MiB};

class FileSeriesTest : public ::testing::Test {
 protected:
  std::string name(int number) const {
    return (directory_ / ("step_" + std::to_string(number) + ".bin")).string();
  }
  void write(int number, char content) const {
    std::ofstream(name(number), std::ios::binary) << std::string(kFileBytes, content);
  }
  /// The content of a file, if all of its bytes are the same.
  static std::optional<char> read(const File& file, const ReadPlan& plan = kPlan) {
    const auto session = file.read_session(plan);
    std::string bytes(file.size(), '\0');
    for (std::uint64_t offset = 0; offset < bytes.size(); offset += 10'000) {
      const auto into =
          std::span(bytes).subspan(offset, std::min<std::size_t>(10'000, bytes.size() - offset));
      if (!session->read(offset, into).wait()) return std::nullopt;
    }
    const bool is_uniform = bytes.find_first_not_of(bytes.front()) == std::string::npos;
    return is_uniform ? std::optional(bytes.front()) : std::nullopt;
  }
  std::optional<char> open_and_read(int number, const ReadPlan& plan = kPlan) {
    const auto file = runtime_.open_file(name(number));
    return file ? read(*file, plan) : std::nullopt;
  }

  const TemporaryDirectory temporary_;
  const std::filesystem::path directory_ = temporary_.path();
  Runtime runtime_;
};

TEST_F(FileSeriesTest, files_of_a_series_are_read_with_their_own_content) {
  for (int i = 0; i < 8; ++i)
    write(i, static_cast<char>('a' + i));
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(open_and_read(i), static_cast<char>('a' + i));
}

TEST_F(FileSeriesTest, file_that_changed_after_it_was_prepared_is_opened_again) {
  for (int i = 0; i < 6; ++i)
    write(i, 'a');
  EXPECT_EQ(open_and_read(0), 'a');
  EXPECT_EQ(open_and_read(1), 'a');
  std::filesystem::remove(name(2));
  write(2, 'b');
  EXPECT_EQ(open_and_read(2), 'b');
  std::filesystem::resize_file(name(3), 1000);
  const auto shorter = runtime_.open_file(name(3));
  ASSERT_TRUE(shorter);
  EXPECT_EQ(shorter->size(), 1000U);
}

TEST_F(FileSeriesTest, missing_next_file_is_no_error_and_is_found_later) {
  write(0, 'a');
  write(1, 'b');
  EXPECT_EQ(open_and_read(0), 'a');
  EXPECT_EQ(open_and_read(1), 'b');
  EXPECT_EQ(runtime_.open_file(name(2)).error().kind(), ErrorClass::kNotFound);
  write(2, 'c');
  EXPECT_EQ(open_and_read(2), 'c');
}

TEST_F(FileSeriesTest, program_that_leaves_the_series_reads_what_it_opens) {
  for (int i = 0; i < 20; ++i)
    write(i, static_cast<char>('a' + i));
  for (const int i : {0, 1, 2, 17, 5, 6, 7, 3})
    EXPECT_EQ(open_and_read(i), static_cast<char>('a' + i));
}

TEST_F(FileSeriesTest, prepared_file_serves_sessions_with_other_plans) {
  for (int i = 0; i < 4; ++i)
    write(i, static_cast<char>('a' + i));
  EXPECT_EQ(open_and_read(0), 'a');
  EXPECT_EQ(open_and_read(1), 'b');
  const auto file = runtime_.open_file(name(2));
  ASSERT_TRUE(file);
  char byte = 0;
  const auto declared = file->read_session(Extent{.offset = 10});
  ASSERT_TRUE(declared->read(20, std::span(&byte, 1)).wait());
  EXPECT_EQ(byte, 'c');
  EXPECT_EQ(read(*file), 'c');
  EXPECT_EQ(read(*file), 'c');
}

TEST_F(FileSeriesTest, file_that_changes_after_open_file_is_read_as_it_is) {
  for (int i = 0; i < 3; ++i)
    write(i, 'a');
  EXPECT_EQ(open_and_read(0, kPushingPlan), 'a');
  EXPECT_EQ(open_and_read(1, kPushingPlan), 'a');
  const auto file = runtime_.open_file(name(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // its first bytes are pushed
  std::fstream(name(2), std::ios::in | std::ios::out) << std::string(kFileBytes, 'b');
  EXPECT_EQ(read(*file, kPushingPlan), 'b');
}

TEST_F(FileSeriesTest, prepared_files_leave_memory_to_the_program) {
  Runtime small({.budget_bytes = 1_MiB});
  std::vector<Session> open;
  for (const int i : {0, 1, 17, 5}) {
    for (int next = i; next < i + 3; ++next)
      write(next, 'a');
    const auto session = small.open_file(name(i))->read_session({.mode = Mode::kOnDemand});
    ASSERT_TRUE(session) << session.error().message();
    open.push_back(*session);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // files are prepared
  }
}

/// A session that ends its process when it is closed.
class FatalSession final : public read::IdleSession {
 public:
  FatalSession()
      : IdleSession({.file = read::word_file(64_KiB),
                     .extent = {0, 64_KiB},
                     .plan = {.tuning = {.splinter_bytes = 4_KiB}}}) {}

 private:
  void close_session() override { ::_exit(1); }
};

TEST(FileSeriesFaults, forked_child_does_not_close_the_prepared_session) {
  auto* const prepared = new PreparedFile(nullptr, {}, {}, std::make_shared<FatalSession>());
  const pid_t child = ::fork();
  if (child == 0) {
    delete prepared;
    ::_exit(0);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::ignore = prepared->take({});
  delete prepared;
}

TEST(FileSeriesFaults, failed_preparation_leaves_the_file_to_the_program) {
  int calls = 0;
  FileSeries series([&](const std::string& path, const ReadPlan&) {
    ++calls;
    return Result<std::shared_ptr<PreparedFile>>(
        failure({.kind = ErrorClass::kPermission, .operation = "open", .path = path}));
  });
  series.record("s1", {}, nullptr);
  series.record("s2", {}, nullptr);
  EXPECT_EQ(series.take("s3"), nullptr);
  EXPECT_EQ(series.take("s4"), nullptr);
  EXPECT_EQ(series.take("other"), nullptr);
  series.stop();
  EXPECT_EQ(calls, 2);
  series.record("s3", {}, nullptr);
  EXPECT_EQ(series.take("s5"), nullptr);
}

}  // namespace
}  // namespace forebay
