// SPDX-License-Identifier: Apache-2.0
// Facts that every Linux has are found on any Linux, and texts as in /proc are parsed.
#include "tools/probe/host_info.hpp"

#include <csignal>
#include <ctime>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/probe/file_system.hpp"
#include "tools/probe/text_file.hpp"

namespace forebay::probe {
namespace {

TEST(TextFile, value_is_from_the_line_that_begins_with_the_key) {
  const std::string text =
      "MemTotal:       1024 kB\nMemFree: 7 kB\nmodel name\t: Fast One\nlast: x";
  EXPECT_EQ(value_after(text, "MemTotal:"), "1024 kB");
  EXPECT_EQ(value_after(text, "MemFree:"), "7 kB");
  EXPECT_EQ(value_after(text, "model name"), "Fast One");
  EXPECT_EQ(value_after(text, "last:"), "x");
  EXPECT_EQ(value_after(text, "Total:"), "");
  EXPECT_EQ(value_after("", "a"), "");
}

TEST(TextFile, an_empty_value_does_not_take_the_next_line) {
  EXPECT_EQ(value_after("model:\nname: x", "model:"), "");
}

TEST(TextFile, choice_is_in_brackets) {
  EXPECT_EQ(selected_choice("always [madvise] never"), "madvise");
  EXPECT_EQ(selected_choice("none"), "none");
  EXPECT_EQ(selected_choice("] ["), "] [");
}

TEST(TextFile, absent_file_is_empty_and_has_no_number) {
  EXPECT_EQ(read_text("/no/such/file"), "");
  EXPECT_FALSE(read_number("/no/such/file"));
}

// A directory has the behavior of the files of a thread in /proc that ends between open and read.
TEST(TextFile, failed_read_gives_empty_text) {
  EXPECT_EQ(read_text("."), "");
  EXPECT_FALSE(read_number("."));
}

TEST(HostInfo, has_cores_memory_and_a_kernel) {
  const HostInfo machine = describe_host();
  EXPECT_GE(machine.cores_online, 1U);
  EXPECT_GE(machine.cores_usable, 1U);
  EXPECT_GT(machine.memory_bytes, machine.memory_available_bytes);
  EXPECT_GE(machine.page_bytes, 4096U);
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_EQ(to_json(machine)["page_bytes"], machine.page_bytes);
}

TEST(HostInfo, busy_time_only_grows) {
  const double before = busy_cpu_seconds();
  EXPECT_GT(before, 0);
  EXPECT_GE(busy_cpu_seconds(), before);
}

/// Ends when `work` does, or when the test does.
pid_t start(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::_exit(work());
}

TEST(HostInfo, program_time_includes_all_processes_of_one_parent) {
  constexpr double kSeconds = 0.2;
  const auto seconds = [] { return static_cast<double>(::clock()) / CLOCKS_PER_SEC; };
  const auto compute = [seconds] {
    while (seconds() < kSeconds) {
    }
  };
  const pid_t rank = start([&] {
    compute();
    return ::pause();
  });
  const pid_t other_rank = start([seconds] {
    for (int look = 0; look < 2000; ++look) {
      if (program_cpu_seconds() - seconds() > kSeconds / 2) return 0;
      ::usleep(10'000);
    }
    return 1;
  });
  int outcome = -1;
  ASSERT_EQ(::waitpid(other_rank, &outcome, 0), other_rank);
  EXPECT_EQ(outcome, 0) << "the time of the other process is missing";
  const double before = program_cpu_seconds();
  ASSERT_EQ(::kill(rank, SIGKILL), 0);
  ASSERT_EQ(::waitpid(rank, nullptr, 0), rank);
  EXPECT_GT(program_cpu_seconds() - before, kSeconds / 2) << "the time of a waited-for child";
}

TEST(FileSystemInfo, of_the_current_directory_has_a_type_and_space) {
  const auto found = describe_file_system(".");
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_FALSE(found->type.empty());
  EXPECT_FALSE(found->mount_point.empty());
  EXPECT_GE(found->total_bytes, found->free_bytes);
  EXPECT_TRUE(found->directory.is_absolute());
}

TEST(FileSystemInfo, proc_is_found_by_its_mount_and_has_no_device) {
  const auto found = describe_file_system("/proc/self");
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->type, "proc");
  EXPECT_EQ(found->mount_point, "/proc");
  EXPECT_FALSE(found->device);
}

TEST(FileSystemInfo, missing_directory_is_named_in_the_error) {
  const auto found = describe_file_system("/no/such/directory");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(found.error().path(), "/no/such/directory");
}

TEST(DirectAccess, possible_with_powers_of_two_or_has_a_reason) {
  const auto access = probe_direct_access(".");
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ(access->possible, access->reason.empty());
  EXPECT_EQ(access->offset_alignment_bytes & (access->offset_alignment_bytes - 1), 0U);
  EXPECT_EQ(access->possible, access->offset_alignment_bytes > 0 && access->reason.empty());
}

}  // namespace
}  // namespace forebay::probe
