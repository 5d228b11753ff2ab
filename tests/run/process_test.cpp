// SPDX-License-Identifier: Apache-2.0
// Processes under `forebay run`: how they are created, restricted and ended. As calls_test.cpp, the
// cases pass without it, too.
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file_fixture.hpp"

extern char** environ;

namespace {

using namespace forebay::run_tests;

/// Ends a child without destructors, handlers, or functions that could be wrapped.
[[noreturn]] void end_child(bool is_success) {
  ::syscall(SYS_exit_group, is_success ? 0 : 1);
  __builtin_unreachable();
}

/// A thread's main function.
void* call_function(void* work) {
  (*static_cast<std::function<void()>*>(work))();
  return nullptr;
}

class Processes : public FileTest {
 protected:
  /// Whether `child`, called in a child that fork() made, returns true.
  static bool in_child(const std::function<bool()>& child) {
    const pid_t process = ::fork();
    if (process == 0) end_child(child());
    return ends_well(process);
  }
  static bool ends_well(pid_t process) {
    int status = -1;
    EXPECT_EQ(::waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0) << "status of a child";
    return status == 0;
  }
  bool reads_file(int times = 100) {
    const int file = ::open(path.c_str(), O_RDONLY);
    bool is_right = file >= 0;
    for (int i = 0; i < times; ++i)
      is_right = reads_right(file, 100, static_cast<std::uint64_t>(i) * 100) && is_right;
    return ::close(file) == 0 && is_right;
  }
};

TEST_F(Processes, chain_of_exec_calls_reads) {
  EXPECT_TRUE(in_child([&] {
    const char* const chain = "exec env sh -c 'cat \"$0\" | cmp - \"$0\"' \"$0\"";
    ::execlp("sh", "sh", "-c", chain, path.c_str(), nullptr);
    return false;
  }));
}

TEST_F(Processes, spawned_process_reads_its_input) {
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, path.c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addclose(&actions, 1);
  std::string dash = "-";
  std::string name = "cmp";
  std::array<char*, 4> words{name.data(), dash.data(), path.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(::posix_spawnp(&child, "cmp", &actions, nullptr, words.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  EXPECT_TRUE(ends_well(child));
}

TEST_F(Processes, program_that_closes_all_descriptors_reads) {
  const auto each = [] {
    for (int file = 0; file < 1024; ++file)
      ::close(file);
  };
  const auto range = [] { ::close_range(3, ~0U, 0); };
  const auto from = [] { ::closefrom(3); };
  for (const std::function<void()>& closes : {std::function<void()>(each), {range}, {from}}) {
    EXPECT_TRUE(in_child([&] {
      const int before = ::open(path.c_str(), O_RDONLY);
      const bool is_right = reads_right(before, 1000, 0);
      closes();
      return is_right && reads_file() && !reads_right(before, 1, 0) && errno == EBADF;
    }));
  }
}

TEST_F(Processes, daemon_reads) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  EXPECT_TRUE(in_child([&] {
    ::setsid();
    if (::fork() != 0) return true;
    static_cast<void>(!::chdir("/"));
    for (int file = 0; file < 1024; ++file)
      if (file != pipe[1]) ::close(file);
    ::open("/dev/null", O_RDWR);
    static_cast<void>(!::write(pipe[1], reads_file() ? "y" : "n", 1));
    end_child(true);
  }));
  char answer = 0;
  EXPECT_EQ(::read(pipe[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(Processes, killed_process_changes_nothing_for_others) {
  for (int i = 0; i < 5; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      while (reads_file()) {
      }
      end_child(false);
    }
    EXPECT_TRUE(reads_file(1000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
  }
  EXPECT_TRUE(reads_file());
}

TEST_F(Processes, raw_fork_reads_in_parent_and_child) {
  EXPECT_TRUE(reads_file());
  const auto child =
      static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (child == 0) end_child(reads_file(1000));
  EXPECT_TRUE(reads_file(1000));
  EXPECT_TRUE(ends_well(child));
}

TEST_F(Processes, exec_after_raw_fork_reads) {
  const auto child =
      static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (child == 0) {
    ::execlp("sh", "sh", "-c", "cat \"$0\" | cmp - \"$0\"", path.c_str(), nullptr);
    end_child(false);
  }
  EXPECT_TRUE(ends_well(child));
}

TEST_F(Processes, strict_seccomp_permits_reads_of_open_files) {
  EXPECT_TRUE(in_child([&] {
    const int file = ::open(path.c_str(), O_RDONLY);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return true;
    const bool is_right = reads_right(file, 1000, 0);
    ::syscall(SYS_exit, is_right ? 0 : 1);
    return false;
  }));
}

TEST_F(Processes, seccomp_filter_of_reads_permits_reads) {
  const std::array<sock_filter, 8> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_lseek, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{.len = program.size(),
                          .filter = const_cast<sock_filter*>(program.data())};
  EXPECT_TRUE(in_child([&] {
    const int file = ::open(path.c_str(), O_RDONLY);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return true;
    const bool is_right =
        reads_right(file, 1000, 0) && ::pread(file, buffer.data(), 1000, 5000) == 1000;
    return is_right && ::lseek(file, 0, SEEK_SET) == 0 && ::close(file) == 0;
  }));
}

TEST_F(Processes, limited_address_space_is_that_of_the_program) {
  for (const rlim_t limit : {60'000'000, 100'000'000, 120'000'000}) {
    EXPECT_TRUE(in_child([&] {
      const rlimit space{.rlim_cur = limit, .rlim_max = limit};
      ::setrlimit(RLIMIT_AS, &space);
      // One buffer of 40 MB.
      ::execlp("dd", "dd", "bs=40000000", "count=1", "if=/dev/zero", "of=/dev/null", "status=none",
               nullptr);
      return false;
    })) << limit;
  }
}

TEST_F(Processes, limited_descriptors_and_file_size_change_nothing) {
  EXPECT_TRUE(in_child([&] {
    const rlimit size{.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &size);
    const rlimit files{.rlim_cur = 6, .rlim_max = 6};
    ::setrlimit(RLIMIT_NOFILE, &files);
    ::close_range(3, ~0U, 0);
    std::array<int, 3> opened{};
    for (int& file : opened)
      file = ::open(path.c_str(), O_RDONLY);
    if (opened[2] != 5 || ::open(path.c_str(), O_RDONLY) != -1 || errno != EMFILE) return false;
    errno = ENOTTY;  // nothing in the child was read before: now its recording begins
    return reads_right(opened[2], 1000, 0) && errno == ENOTTY;
  }));
}

TEST_F(Processes, smallest_stack_suffices) {
  pthread_attr_t attributes{};
  ::pthread_attr_init(&attributes);
  ASSERT_EQ(::pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN), 0);
  bool is_read = false;
  std::function<void()> body = [&] { is_read = reads_file(); };
  pthread_t thread{};
  ASSERT_EQ(::pthread_create(&thread, &attributes, call_function, &body), 0);
  ASSERT_EQ(::pthread_join(thread, nullptr), 0);
  EXPECT_TRUE(is_read);
}

TEST_F(Processes, successful_calls_keep_errno) {
  errno = ENOTTY;
  const int file = ::open(path.c_str(), O_RDONLY);
  const int copy = ::fcntl(file, F_DUPFD, 20);
  EXPECT_EQ(::dup2(file, copy), copy);
  EXPECT_EQ(::pread(file, buffer.data(), 100, 0), 100);
  EXPECT_EQ(::read(copy, buffer.data(), 100), 100);
  EXPECT_EQ(::lseek(copy, 0, SEEK_END), static_cast<off_t>(kFileBytes));
  EXPECT_EQ(::read(copy, buffer.data(), 100), 0);
  EXPECT_EQ(::close(copy), 0);
  EXPECT_EQ(::close(file), 0);
  EXPECT_EQ(errno, ENOTTY);
}

TEST_F(Processes, failed_reopening_closes_the_descriptor) {
  std::FILE* const stream = std::fopen(path.c_str(), "r");
  ASSERT_NE(stream, nullptr);
  const int old = ::fileno(stream);
  EXPECT_EQ(std::fread(buffer.data(), 1, 100, stream), 100U);
  EXPECT_EQ(std::freopen((folder + "/missing").c_str(), "r", stream), nullptr);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::open(path.c_str(), O_RDONLY), old);
  EXPECT_TRUE(reads_right(old, 1000, 0));
  ::close(old);
}

TEST_F(Processes, cancellation_in_a_call_of_a_file_ends_the_thread) {
  using Call = void (*)(int, const char*);
  const std::array<Call, 5> calls{{
      [](int file, const char*) { static_cast<void>(!::pread(file, &file, 1, 0)); },
      [](int, const char* name) { ::open(name, O_RDONLY); },
      [](int file, const char*) { ::close(file); },
      [](int file, const char*) { ::fcntl(file, F_SETLKW, nullptr); },
      [](int file, const char*) { static_cast<void>(!::read(file, &file, 1)); },
  }};
  for (const Call call : calls) {
    const int file = ::open(path.c_str(), O_RDONLY);
    EXPECT_TRUE(reads_right(file, 100, 0));
    void* result = nullptr;
    std::atomic<bool> is_requested{false};
    std::function<void()> body = [&] {
      while (!is_requested)
        std::this_thread::yield();
      call(file, path.c_str());
    };
    pthread_t thread{};
    ASSERT_EQ(::pthread_create(&thread, nullptr, call_function, &body), 0);
    EXPECT_EQ(::pthread_cancel(thread), 0);
    is_requested = true;
    ASSERT_EQ(::pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    ::close(file);
  }
}

}  // namespace
