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

TEST(Processes, state_is_running_ended_or_unknown) {
  const auto me = static_cast<std::uint64_t>(::getpid());
  const std::uint64_t start = current_process().process_start;
  EXPECT_EQ(process_state(me, start), ProcessState::kRunning);
  EXPECT_EQ(process_state(me, start + 1), ProcessState::kEnded);
  EXPECT_EQ(process_state(me, 0), ProcessState::kUnknown);
  EXPECT_EQ(process_state(std::uint64_t{1} << 40U, start), ProcessState::kEnded);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto number = static_cast<std::uint64_t>(child);
  EXPECT_EQ(process_state(number, start), ProcessState::kEnded)
      << "its parent has not waited for it";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(process_state(number, start), ProcessState::kEnded);
}

/// The main thread ends, another one stays.
[[noreturn]] void end_main_thread(int out) {
  const std::uint64_t start = current_process().process_start;
  if (::write(out, &start, sizeof start) != sizeof start) ::_exit(1);
  std::thread([] { ::pause(); }).detach();
  ::syscall(SYS_exit, 0);  // pthread_exit() throws through the frames of gtest
  ::_exit(1);
}

/// The state of a process in /proc, one character.
char state_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  const std::string line(std::istreambuf_iterator<char>(in), {});
  const std::size_t name_end = line.rfind(')');
  return name_end + 2 < line.size() ? line[name_end + 2] : '?';
}

TEST(Processes, process_without_main_thread_is_running) {
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
  EXPECT_EQ(process_state(number, start), ProcessState::kRunning);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(process_state(number, start), ProcessState::kEnded);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace forebay::write
