// SPDX-License-Identifier: Apache-2.0
// The choice of a backend. These tests hold with and without io_uring: tests/faults also runs them
// in a process to which it is refused.
#include "storage/probe.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace forebay::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordingLog final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view line) noexcept override {
    lines.emplace_back(line);
  }
  std::vector<std::string> lines;
};

/// Calls the kernel directly: a set-up without parameters fails with EFAULT if io_uring is allowed.
bool io_uring_is_refused() {
  const long result = ::syscall(SYS_io_uring_setup, 1, nullptr);
  return result == -1 && errno != EFAULT;
}

TEST(Probe, automatic_choice_is_the_ring_or_threads_with_one_log_line) {
  RecordingLog log;
  const auto backend = make_backend({.log = &log});
  ASSERT_TRUE(backend) << backend.error().message();
  if (io_uring_is_refused()) {
    EXPECT_EQ((*backend)->name(), "threads");
    ASSERT_EQ(log.lines.size(), 1U);
    EXPECT_THAT(log.lines[0], HasSubstr("io_uring"));
    EXPECT_THAT(log.lines[0], HasSubstr("threads instead"));
  } else {
    EXPECT_EQ((*backend)->name(), "io_uring");
    EXPECT_THAT(log.lines, IsEmpty());
  }
}

TEST(Probe, ring_by_name_is_the_ring_or_an_error) {
  const auto backend = make_backend({.choice = BackendChoice::kIoUring});
  if (io_uring_is_refused()) {
    ASSERT_FALSE(backend);
    EXPECT_EQ(backend.error().kind(), ErrorClass::kUnsupported);
    EXPECT_THAT(backend.error().message(), HasSubstr("io_uring"));
  } else {
    ASSERT_TRUE(backend) << backend.error().message();
    EXPECT_EQ((*backend)->name(), "io_uring");
  }
}

TEST(Probe, threads_by_name_log_nothing) {
  RecordingLog log;
  const auto backend = make_backend({.choice = BackendChoice::kThreads,
                                     .worker_count = 1,
                                     .worker_cpus = {0, 4000},
                                     .log = &log});
  ASSERT_TRUE(backend) << backend.error().message();
  EXPECT_EQ((*backend)->name(), "threads");
  EXPECT_THAT(log.lines, IsEmpty());
}

TEST(Probe, posix_aio_is_created_by_name_only) {
  RecordingLog log;
  const auto backend = make_backend({.choice = BackendChoice::kAio, .log = &log});
  ASSERT_TRUE(backend) << backend.error().message();
  EXPECT_EQ((*backend)->name(), "aio");
  EXPECT_THAT(log.lines, IsEmpty());
}

TEST(Probe, report_agrees_with_the_kernel) {
  const BackendProbe found = probe_backends();
  EXPECT_EQ(found.is_ring_available, !io_uring_is_refused()) << found.ring_reason;
  EXPECT_FALSE(found.ring_reason.empty());
  EXPECT_EQ(found.can_register_buffers, found.buffers_reason.empty());
  if (!found.is_ring_available) {
    EXPECT_FALSE(found.can_register_buffers);
  }
}

TEST(Probe, queue_depth_is_as_requested) {
  for (const BackendChoice choice :
       {BackendChoice::kAuto, BackendChoice::kThreads, BackendChoice::kAio}) {
    const auto backend = make_backend({.choice = choice, .queue_depth = 37});
    ASSERT_TRUE(backend);
    EXPECT_EQ((*backend)->capacity(), 37U);
  }
}

}  // namespace
}  // namespace forebay::storage
