// SPDX-License-Identifier: Apache-2.0
// A stage's process: its result is returned, its bytes and memory are counted separately, and its
// end is detected, however it ends.
#include "bench/cube/subprocess.hpp"

#include <csignal>
#include <fstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/sanitizer.hpp"
#include "bench/frame/work_directory.hpp"

namespace forebay::bench::cube {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

TEST(Subprocess, returns_result_of_work) {
  const auto run =
      run_in_subprocess([]() -> Result<std::string> { return std::string(3 * kMiB, 'x'); });
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->output.size(), 3 * kMiB);
  EXPECT_GT(run->total_s, 0);
}

TEST(Subprocess, counts_written_bytes_and_memory) {
  const auto directory = WorkDirectory::make(::testing::TempDir());
  ASSERT_TRUE(directory);
  const std::string path = (directory->path() / "file").string();
  const auto run = run_in_subprocess([&]() -> Result<std::string> {
    const std::vector<char> block(64 * kMiB, 'x');
    std::ofstream(path).write(block.data(), 4 * kMiB);
    return std::string();
  });
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_GT(run->memory_bytes, 64 * kMiB);
  if (!run->written_bytes) GTEST_SKIP() << "this system does not count what a process writes";
  EXPECT_GE(*run->written_bytes, 4 * kMiB);
  EXPECT_LT(*run->written_bytes, 5 * kMiB);
}

TEST(Subprocess, failures_exceptions_and_signals_return_errors) {
  const auto failed = run_in_subprocess([]() -> Result<std::string> {
    return failure({.kind = ErrorClass::kIo, .operation = "write", .path = "somewhere"});
  });
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("somewhere"));
  const auto thrown =
      run_in_subprocess([]() -> Result<std::string> { throw std::runtime_error("no memory"); });
  ASSERT_FALSE(thrown);
  EXPECT_THAT(thrown.error().message(), HasSubstr("no memory"));
  const auto killed = run_in_subprocess([]() -> Result<std::string> {
    ::kill(::getpid(), SIGKILL);
    return std::string();
  });
  ASSERT_FALSE(killed);
  EXPECT_THAT(killed.error().message(), HasSubstr("signal 9"));
}

TEST(Subprocess, returns_output_of_program) {
  const auto run = run_program_in_subprocess({"/bin/echo", "something"});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->output, "something\n");
  EXPECT_FALSE(run_program_in_subprocess({"/bin/false"}));
  EXPECT_FALSE(run_program_in_subprocess({"/no/such/program"}));
}

}  // namespace
}  // namespace forebay::bench::cube
