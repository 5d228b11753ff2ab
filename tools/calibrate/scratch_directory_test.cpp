// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/scratch_directory.hpp"

#include <array>
#include <csignal>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/testing.hpp"

namespace forebay::calibrate {
namespace {

namespace fs = std::filesystem;

/// A process that has a directory with a file in `parent`, and waits for a signal.
pid_t start_measuring(const std::string& parent) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t process = ::fork();
  if (process == 0) {
    const auto directory = ScratchDirectory::make(parent);
    if (!directory) ::_exit(1);
    std::ofstream(**directory / "data") << "x";
    if (::write(ends[1], "r", 1) != 1) ::_exit(1);
    for (;;)
      ::pause();
  }
  ::close(ends[1]);
  char ready = 0;
  EXPECT_EQ(::read(ends[0], &ready, 1), 1);
  ::close(ends[0]);
  return process;
}

TEST(ScratchDirectory, removed_with_content_when_a_signal_ends_the_process) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const storage::TemporaryDirectory parent;
    const pid_t process = start_measuring(parent / "");
    EXPECT_FALSE(fs::is_empty(parent / ""));
    ::kill(process, number);
    int status = 0;
    ASSERT_EQ(::waitpid(process, &status, 0), process);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + number);
    EXPECT_TRUE(fs::is_empty(parent / ""));
  }
}

}  // namespace
}  // namespace forebay::calibrate
