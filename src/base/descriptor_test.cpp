// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.hpp"

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizer.hpp"
#include "base/testing.hpp"

namespace forebay {
namespace {

Descriptor open_null_device() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(Descriptor, owned_number_is_closed_once) {
  const std::size_t before = open_descriptor_count();
  {
    Descriptor first = open_null_device();
    EXPECT_EQ(open_descriptor_count(), before + 1);
    Descriptor second = std::move(first);
    first = open_null_device();
    second = std::move(first);
    EXPECT_EQ(open_descriptor_count(), before + 1);
  }
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST(Descriptor, released_number_stays_open) {
  Descriptor owner = open_null_device();
  const int number = owner.release();
  EXPECT_FALSE(owner);
  owner = Descriptor();
  EXPECT_GE(::fcntl(number, F_GETFD), 0);
  ::close(number);
}

TEST(Descriptor, duplicate_is_another_number_that_is_closed_on_exec) {
  const Descriptor owner = open_null_device();
  auto copy = owner.duplicate();
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_NE(copy->get(), owner.get());
  EXPECT_EQ(::fcntl(copy->get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Descriptor, empty_one_cannot_be_duplicated) {
  auto copy = Descriptor().duplicate();
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().error_number(), EBADF);
  EXPECT_EQ(Descriptor(-7).get(), -1);
}

/// Writes to a closed standard output while files are opened. Returns how many writes reached a
/// file.
int stray_write_count(const std::string& path) {
  constexpr int kOpened = 20'000;
  ::close(STDOUT_FILENO);
  std::atomic<bool> ends{false};
  std::atomic<int> printed{0};
  std::thread printer([&] {
    while (!ends.load())
      if (::write(STDOUT_FILENO, "x", 1) == 1) printed.fetch_add(1);
  });
  for (int i = 0; i < kOpened; ++i)
    if (!open_path(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) printed.fetch_add(1);
  ends.store(true);
  printer.join();
  return printed.load();
}

TEST(Descriptor, open_path_skips_the_number_of_a_closed_standard_output) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer reports these writes as a race";
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(stray_write_count(directory / "file") == 0 ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Descriptor, failed_open_path_is_empty_and_keeps_errno) {
  EXPECT_FALSE(open_path("/no/such/file", O_RDONLY));
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace forebay
