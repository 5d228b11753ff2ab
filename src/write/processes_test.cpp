// SPDX-License-Identifier: Apache-2.0
// Whether a process of this host still runs.
#include "write/processes.hpp"

#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "write/lease.hpp"

namespace forebay::write {
namespace {

TEST(Processes, live_are_gone_or_cannot_be_told) {
  const auto me = static_cast<std::uint64_t>(::getpid());
  const std::uint64_t start = this_process().process_start;
  EXPECT_EQ(fate_of_process(me, start), Fate::kLives);
  EXPECT_EQ(fate_of_process(me, start + 1), Fate::kGone);
  EXPECT_EQ(fate_of_process(me, 0), Fate::kUnknown);
  EXPECT_EQ(fate_of_process(std::uint64_t{1} << 40U, start), Fate::kGone);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto number = static_cast<std::uint64_t>(child);
  EXPECT_EQ(fate_of_process(number, start), Fate::kGone) << "its parent has not waited for it";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(fate_of_process(number, start), Fate::kGone);
}

/// Its main thread ends, another one stays.
[[noreturn]] void end_main_thread(int out) {
  const std::uint64_t start = this_process().process_start;
  if (::write(out, &start, sizeof start) != sizeof start) ::_exit(1);
  std::thread([] { ::pause(); }).detach();
  ::syscall(SYS_exit, 0);  // pthread_exit() throws through the frames of gtest
  ::_exit(1);
}

/// The state letter of a process in /proc.
char state_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  const std::string line(std::istreambuf_iterator<char>(in), {});
  const std::size_t name_end = line.rfind(')');
  return name_end + 2 < line.size() ? line[name_end + 2] : '?';
}

TEST(Processes, without_main_thread_live_while_another_thread_runs) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) end_main_thread(pipe[1]);
  std::uint64_t start = 0;
  ASSERT_EQ(::read(pipe[0], &start, sizeof start), static_cast<ssize_t>(sizeof start));
  while (state_of(child) != 'Z' && state_of(child) != '?')
    std::this_thread::yield();
  const auto number = static_cast<std::uint64_t>(child);
  EXPECT_EQ(fate_of_process(number, start), Fate::kLives);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(fate_of_process(number, start), Fate::kGone);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace forebay::write
