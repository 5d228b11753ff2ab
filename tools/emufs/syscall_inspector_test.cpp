// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/syscall_inspector.hpp"

#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forebay::emufs {
namespace {

TEST(SyscallInspector, number_is_parsed) {
  EXPECT_EQ(parse_system_call("262 0xffffff9c 0x7ffd 0x0\n"), 262);
  EXPECT_EQ(parse_system_call("0 0x3"), 0);
  EXPECT_EQ(parse_system_call("running\n"), std::nullopt);
  EXPECT_EQ(parse_system_call("-1 0x7ffd 0x7f\n"), std::nullopt);
  EXPECT_EQ(parse_system_call(""), std::nullopt);
}

TEST(SyscallInspector, stat_calls_are_recognized) {
  EXPECT_TRUE(is_stat_call(SYS_newfstatat));
  EXPECT_TRUE(is_stat_call(SYS_statx));
  EXPECT_TRUE(is_stat_call(SYS_fstat));
  EXPECT_FALSE(is_stat_call(SYS_openat));
  EXPECT_FALSE(is_stat_call(SYS_unlinkat));
}

TEST(SyscallInspector, purpose_of_waiting_and_of_ended_thread) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;)
      ::pause();
  }
  SyscallPurpose purpose = SyscallPurpose::kUnknown;
  for (int i = 0; i < 10'000 && purpose == SyscallPurpose::kUnknown; ++i) {
    purpose = purpose_of(child);
    ::poll(nullptr, 0, 1);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (purpose == SyscallPurpose::kUnknown && ::geteuid() != 0) GTEST_SKIP() << "requires root";
  EXPECT_EQ(purpose, SyscallPurpose::kOther);
  EXPECT_EQ(purpose_of(child), SyscallPurpose::kUnknown);
}

TEST(FatalSignal, not_blocked_ignored_or_caught) {
  const auto status = [](const char* own, const char* shared, const char* survived) {
    return std::string("Name:\tx\nSigQ:\t1/2\nSigPnd:\t") + own + "\nShdPnd:\t" + shared +
           "\nSigBlk:\t" + survived + "\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n";
  };
  const char* none = "0000000000000000";
  const char* kill = "0000000000000100";
  const char* quit = "0000000000000004";
  const char* child = "0000000000010000";
  EXPECT_FALSE(has_fatal_signal(status(none, none, none)));
  EXPECT_TRUE(has_fatal_signal(status(kill, none, none)));
  EXPECT_TRUE(has_fatal_signal(status(none, quit, none)));
  EXPECT_FALSE(has_fatal_signal(status(none, quit, quit)));
  EXPECT_FALSE(has_fatal_signal(status(none, child, none)));
  EXPECT_FALSE(has_fatal_signal(""));
}

}  // namespace
}  // namespace forebay::emufs
