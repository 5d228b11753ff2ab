// SPDX-License-Identifier: Apache-2.0
#include <forebay/temporary_file.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

namespace fs = std::filesystem;

class TemporaryFileTest : public ::testing::Test {
 protected:
  static void write_text(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Status write_and_publish(const std::string& target, const std::string& text) {
    auto file = TemporaryFile::create_beside(target);
    if (!file) return failure(file.error());
    EXPECT_EQ(::write(file->descriptor(), text.data(), text.size()), std::ssize(text));
    return file->publish();
  }
  std::size_t entry_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory.path()), {}));
  }
  static mode_t mode_of(const std::string& path) {
    struct stat found{};
    EXPECT_EQ(::stat(path.c_str(), &found), 0);
    return found.st_mode & 07777U;
  }

  TemporaryDirectory directory;
  const std::string target = directory / "result";
};

TEST_F(TemporaryFileTest, appears_under_its_name_when_published) {
  write_text(target, "old");
  auto file = TemporaryFile::create_beside(target);
  ASSERT_TRUE(file);
  EXPECT_EQ(::write(file->descriptor(), "new", 3), 3);
  EXPECT_EQ(text_of(target), "old");
  ASSERT_TRUE(file->publish());
  EXPECT_EQ(text_of(target), "new");
  EXPECT_EQ(entry_count(), 1U);
}

TEST_F(TemporaryFileTest, unpublished_file_is_removed) {
  ASSERT_TRUE(TemporaryFile::create_beside(target));
  EXPECT_EQ(entry_count(), 0U);
}

TEST_F(TemporaryFileTest, concurrent_writers_publish_complete_files) {
  const std::vector<std::string> texts{std::string(300'000, 'a'), std::string(300'000, 'b')};
  std::vector<std::jthread> writers;
  for (const std::string& text : texts) {
    writers.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(write_and_publish(target, text));
    });
  }
  writers.clear();
  const std::string found = text_of(target);
  EXPECT_TRUE(found == texts[0] || found == texts[1]);
  EXPECT_EQ(entry_count(), 1U);
}

TEST_F(TemporaryFileTest, link_stays_and_its_file_is_replaced) {
  fs::create_directory(directory / "elsewhere");
  write_text(directory / "elsewhere/file", "old");
  fs::create_symlink("elsewhere/file", target);
  ASSERT_TRUE(write_and_publish(target, "new"));
  EXPECT_TRUE(fs::is_symlink(target));
  EXPECT_EQ(text_of(directory / "elsewhere/file"), "new");
  EXPECT_EQ(entry_count(), 2U);
}

TEST_F(TemporaryFileTest, dangling_link_is_followed) {
  fs::create_symlink(directory / "not-yet", target);
  ASSERT_TRUE(write_and_publish(target, "new"));
  EXPECT_EQ(text_of(directory / "not-yet"), "new");
}

TEST_F(TemporaryFileTest, circular_links_are_an_error) {
  fs::create_symlink(target, directory / "other");
  fs::create_symlink(directory / "other", target);
  const auto made = TemporaryFile::create_beside(target);
  ASSERT_FALSE(made);
  EXPECT_TRUE(message_contains(made.error(), "Too many levels"));
}

TEST_F(TemporaryFileTest, link_at_the_temporary_name_is_not_followed) {
  auto file = TemporaryFile::create_beside(target);
  ASSERT_TRUE(file);
  struct stat found{};
  ASSERT_EQ(::lstat(file->path().c_str(), &found), 0);
  EXPECT_TRUE(S_ISREG(found.st_mode));
}

TEST_F(TemporaryFileTest, mode_of_the_old_file_is_kept) {
  write_text(target, "secret");
  fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write);
  auto file = TemporaryFile::create_beside(target);
  ASSERT_TRUE(file);
  EXPECT_EQ(mode_of(file->path()), 0600U);
  ASSERT_TRUE(file->publish());
  EXPECT_EQ(mode_of(target), 0600U);
}

/// Run in a process of another user: rewrites `target` and gains no rights. Returns an exit code;
/// 0: success.
int rewrite_as_nobody(const std::string& target, gid_t extra_group) {
  constexpr uid_t kUnprivilegedUser = 65534;
  if (::setgroups(1, &extra_group) != 0 || ::setgid(kUnprivilegedUser) != 0 ||
      ::setuid(kUnprivilegedUser) != 0)
    return 2;
  auto file = TemporaryFile::create_beside(target);
  return file && file->publish() ? 0 : 1;
}

TEST_F(TemporaryFileTest, another_user_keeps_the_group_and_gains_no_rights) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to act as two users";
  constexpr gid_t kTheirs = 1;
  constexpr gid_t kForeign = 2;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0777), 0);
  for (const gid_t group : {kTheirs, kForeign}) {
    write_text(target, "old");
    ASSERT_EQ(::chown(target.c_str(), 0, group), 0);
    ASSERT_EQ(::chmod(target.c_str(), 04770), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(rewrite_as_nobody(target, kTheirs));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    struct stat found{};
    ASSERT_EQ(::stat(target.c_str(), &found), 0);
    EXPECT_EQ(found.st_gid == group, group == kTheirs);
    EXPECT_EQ(found.st_mode & 07777U, group == kTheirs ? 0770U : 0700U);
    fs::remove(target);
  }
}

TEST_F(TemporaryFileTest, pipe_as_standard_output_is_rejected) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const auto made = TemporaryFile::create_beside("/dev/fd/" + std::to_string(ends[1]));
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_FALSE(made);
  EXPECT_TRUE(message_contains(made.error(), "it is a pipe")) << made.error().message();
}

TEST_F(TemporaryFileTest, new_file_follows_the_umask) {
  ASSERT_TRUE(write_and_publish(target, "new"));
  write_text(directory / "usual", "as any program creates it");
  EXPECT_EQ(mode_of(target), mode_of(directory / "usual"));
}

TEST_F(TemporaryFileTest, pipe_device_and_directory_are_rejected) {
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {directory / "pipe", std::string("/dev/null"), directory.path()}) {
    const auto made = TemporaryFile::create_beside(path);
    ASSERT_FALSE(made) << path;
    EXPECT_EQ(made.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(message_contains(made.error(), "name a regular file"));
  }
  EXPECT_EQ(entry_count(), 1U);
}

TEST_F(TemporaryFileTest, longest_name_is_published) {
  const std::string longest = directory / std::string(255, 'n');
  ASSERT_TRUE(write_and_publish(longest, "new"));
  EXPECT_EQ(text_of(longest), "new");
}

TEST_F(TemporaryFileTest, missing_directory_is_an_error_with_the_path) {
  const auto made = TemporaryFile::create_beside(directory / "no/result");
  ASSERT_FALSE(made);
  EXPECT_TRUE(message_contains(made.error(), "no/result"));
  EXPECT_EQ(made.error().kind(), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay
