// SPDX-License-Identifier: Apache-2.0
// io_uring that is set up and then refused, as a filter of system calls does that was installed
// late: operations end with the error, after a bounded number of calls.
#include <array>
#include <cerrno>
#include <memory>

#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "storage/ring_backend.hpp"

namespace forebay::storage {
namespace {

class Silence final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view /*line*/) noexcept override {}
};

bool refuse_enter(int error_number) {
  const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  const auto action = SCMP_ACT_ERRNO(static_cast<unsigned>(error_number));
  return filter != nullptr &&
         ::seccomp_rule_add(filter, action, SCMP_SYS(io_uring_enter), 0) == 0 &&
         ::seccomp_load(filter) == 0;
}

enum ExitCode : int { kFails = 0, kSkipped = 77, kNoFilter = 10, kNoFile, kWrongOutcome };

/// Of a process of its own, as a filter cannot be taken away again.
int use_a_ring_that_is_refused(const std::string& path, int error_number) {
  Silence log;
  auto ring = make_ring_backend(4, log);
  if (!ring) return kSkipped;
  const auto file = open_file(path, {.intent = Intent::kCreate});
  if (!file) return kNoFile;
  if (!refuse_enter(error_number)) return kNoFilter;
  std::array<std::byte, 100> memory{};
  const std::array operations{write_operation(**file, 0, memory, 1), sync_operation(**file, 2)};
  if ((*ring)->submit(operations) != operations.size()) return kWrongOutcome;
  std::array<RawCompletion, 4> completions{};
  std::size_t ended = 0;
  while (ended < operations.size()) {
    const std::size_t count = (*ring)->wait(completions, std::nullopt);
    for (std::size_t i = 0; i < count; ++i)
      if (completions[i].result != -error_number) return kWrongOutcome;
    ended += count;
  }
  return kFails;
}

class RefusedRing : public ::testing::TestWithParam<int> {};

TEST_P(RefusedRing, operations_end_with_the_error) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(use_a_ring_that_is_refused(folder / "file", GetParam()));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "there is no io_uring here";
  EXPECT_EQ(WEXITSTATUS(status), kFails);
}

INSTANTIATE_TEST_SUITE_P(Errors, RefusedRing, ::testing::Values(EPERM, ENOSYS, ENOMEM, EAGAIN));

}  // namespace
}  // namespace forebay::storage
