// SPDX-License-Identifier: Apache-2.0
// A user who may start no more threads: POSIX AIO, which uses threads, returns Errors of that
// cause. It neither hangs nor ends the program.
#include <chrono>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "storage/engine.hpp"
#include "storage/probe.hpp"
#include "storage/testing.hpp"
#include "unprivileged_user.hpp"

namespace forebay::storage {
namespace {

/// Gives up root, which has no limit. Changes this process permanently.
bool forbid_threads() {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_NPROC, &none) != 0) return false;
  return drop_root();
}

std::string make_without_threads() {
  if (!forbid_threads()) return "the limit could not be set";
  const auto backend = make_backend({.choice = BackendChoice::kAio});
  if (backend) return "a backend was created";
  if (backend.error().kind() != ErrorClass::kLimit) return backend.error().message();
  return "as expected";
}

/// Forebay's thread exists before the limit is set; glibc's is started by the first operation.
std::string read_without_threads(File& file) {
  auto backend = make_backend({.choice = BackendChoice::kAio, .queue_depth = 4});
  if (!backend) return backend.error().message();
  if (!forbid_threads()) return "the limit could not be set";
  Engine engine(std::move(*backend), {.retry_total_us_max = std::chrono::milliseconds(2)});
  std::vector<std::byte> memory(1000);
  const Operation read = read_operation(file, 0, memory, 1);
  engine.submit({&read, 1});
  std::array<Completion, 1> completions;
  if (engine.wait(completions, std::nullopt) != 1) return "the read did not complete";
  if (completions[0].bytes) return "the read succeeded";
  const Error& error = completions[0].bytes.error();
  return error.error_number() == EAGAIN ? "as expected" : error.message();
}

TEST(AioLimitsDeathTest, no_more_threads_is_an_error_of_make_backend) {
  const auto run = [] {
    std::fprintf(stderr, "%s\n", make_without_threads().c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "as expected");
}

TEST(AioLimitsDeathTest, no_more_threads_of_glibc_fails_reads) {
  const TemporaryDirectory directory;
  write_pattern_file(directory / "data", 1000);
  const auto file = must_open(directory / "data");
  const auto run = [&] {
    std::fprintf(stderr, "%s\n", read_without_threads(*file).c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "as expected");
}

}  // namespace
}  // namespace forebay::storage
