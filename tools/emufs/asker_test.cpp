// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/asker.hpp"

#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forebay::emufs {
namespace {

TEST(Asker, the_number_of_a_system_call_comes_first) {
  EXPECT_EQ(parse_system_call("262 0xffffff9c 0x7ffd 0x0\n"), 262);
  EXPECT_EQ(parse_system_call("0 0x3"), 0);
  EXPECT_EQ(parse_system_call("running\n"), std::nullopt);
  EXPECT_EQ(parse_system_call("-1 0x7ffd 0x7f\n"), std::nullopt);
  EXPECT_EQ(parse_system_call(""), std::nullopt);
}

TEST(Asker, programs_ask_for_attributes_by_stat_and_its_kin) {
  EXPECT_TRUE(asks_for_attributes(SYS_newfstatat));
  EXPECT_TRUE(asks_for_attributes(SYS_statx));
  EXPECT_TRUE(asks_for_attributes(SYS_fstat));
  EXPECT_FALSE(asks_for_attributes(SYS_openat));
  EXPECT_FALSE(asks_for_attributes(SYS_unlinkat));
}

TEST(Asker, a_thread_that_waits_is_seen_to_and_one_that_is_gone_is_not) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;)
      ::pause();
  }
  Purpose purpose = Purpose::kUnknown;
  for (int i = 0; i < 10'000 && purpose == Purpose::kUnknown; ++i) {
    purpose = purpose_of(child);
    ::poll(nullptr, 0, 1);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (purpose == Purpose::kUnknown && ::geteuid() != 0) GTEST_SKIP() << "takes root here";
  EXPECT_EQ(purpose, Purpose::kOther);
  EXPECT_EQ(purpose_of(child), Purpose::kUnknown);
}

TEST(FatalSignal, is_one_that_nobody_blocks_ignores_or_catches) {
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
