// SPDX-License-Identifier: Apache-2.0
// Calls that `forebay run` wraps. The cases pass without it, too: it must not change a result. The
// Python tests run this program both ways.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file_fixture.hpp"

extern char** environ;

namespace {

using namespace forebay::run_tests;

class Calls : public FileTest {};

TEST_F(Calls, positions_are_those_of_the_kernel) {
  const int file = ::open(path.c_str(), O_RDONLY);
  ASSERT_GE(file, 0);
  EXPECT_TRUE(reads_right(file, 1000, 0));
  EXPECT_EQ(::lseek(file, 5000, SEEK_CUR), 6000);
  EXPECT_TRUE(reads_right(file, 1000, 6000));
  EXPECT_EQ(::lseek(file, -1, SEEK_SET), -1);
  EXPECT_EQ(errno, EINVAL);
  std::vector<char> into(100);
  EXPECT_EQ(::pread(file, into.data(), 100, 777), 100);
  EXPECT_TRUE(is_right(into.data(), 100, 777));
  EXPECT_TRUE(reads_right(file, 10, 7000));
  std::array<iovec, 2> parts{{{into.data(), 40}, {into.data() + 40, 60}}};
  EXPECT_EQ(::preadv(file, parts.data(), 2, 333), 100);
  EXPECT_TRUE(is_right(into.data(), 100, 333));
  EXPECT_EQ(::readv(file, parts.data(), 2), 100);
  EXPECT_TRUE(is_right(into.data(), 100, 7010));
  EXPECT_EQ(::preadv2(file, parts.data(), 2, -1, 0), 100);
  EXPECT_TRUE(is_right(into.data(), 100, 7110));
  ::close(file);
  EXPECT_EQ(::read(file, into.data(), 1), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(Calls, copies_of_a_descriptor_share_the_position) {
  const int file = ::open(path.c_str(), O_RDONLY);
  const int copy = ::dup(file);
  const int second = ::fcntl(file, F_DUPFD_CLOEXEC, 100);
  ASSERT_GE(second, 100);
  EXPECT_TRUE(reads_right(file, 1000, 0));
  EXPECT_TRUE(reads_right(copy, 1000, 1000));
  ::close(file);
  EXPECT_TRUE(reads_right(second, 1000, 2000));
  const int other = ::open(path.c_str(), O_RDONLY);
  EXPECT_EQ(::dup2(other, copy), copy);
  EXPECT_TRUE(reads_right(copy, 1000, 0));
  EXPECT_TRUE(reads_right(second, 1000, 3000));
  EXPECT_EQ(::close_range(static_cast<unsigned>(other), static_cast<unsigned>(other), 0), 0);
  EXPECT_TRUE(reads_right(copy, 1000, 1000));
  ::close(copy);
  ::close(second);
}

TEST_F(Calls, parent_and_child_share_the_position) {
  const int file = ::open(path.c_str(), O_RDONLY);
  EXPECT_TRUE(reads_right(file, 1000, 0));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(reads_right(file, 1000, 1000) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(reads_right(file, 1000, 2000));
  ::close(file);
}

TEST_F(Calls, spawned_and_executed_programs_run) {
  pid_t child = 0;
  std::array<char*, 4> words{const_cast<char*>("cmp"), path.data(), path.data(), nullptr};
  ASSERT_EQ(::posix_spawnp(&child, "cmp", nullptr, nullptr, words.data(), environ), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  child = ::vfork();
  if (child == 0) {
    ::execlp("true", "true", nullptr);
    ::_exit(1);
  }
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Calls, child_of_vfork_has_its_own_descriptors) {
  const int file = ::open(path.c_str(), O_RDONLY);
  EXPECT_TRUE(reads_right(file, 1000, 0));
  const pid_t child = ::vfork();
  if (child == 0) {
    ::close(file);
    ::execlp("true", "true", nullptr);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(reads_right(file, 1000, 1000));
  ::close(file);
}

TEST_F(Calls, writes_by_another_descriptor_are_read) {
  const int reader = ::open(path.c_str(), O_RDONLY);
  const int writer = ::open(path.c_str(), O_WRONLY);
  for (int i = 0; i < 200; ++i) {
    const off_t at = i * 4096;
    std::array<char, 100> written;
    written.fill(static_cast<char>(i));
    ASSERT_EQ(::pwrite(writer, written.data(), written.size(), at), 100);
    std::array<char, 100> into;
    ASSERT_EQ(::pread(reader, into.data(), into.size(), at), 100);
    ASSERT_EQ(into, written);
  }
  ::close(reader);
  ::close(writer);
}

TEST_F(Calls, a_file_open_for_both_and_for_appending_has_one_position) {
  const int file = ::open(path.c_str(), O_RDWR);
  EXPECT_TRUE(reads_right(file, 1000, 0));
  EXPECT_EQ(::write(file, "abc", 3), 3);
  EXPECT_TRUE(reads_right(file, 1000, 1003));
  ::close(file);
  const int append = ::open(path.c_str(), O_RDWR | O_APPEND);
  EXPECT_EQ(::write(append, "abc", 3), 3);
  std::array<char, 4> into{};
  EXPECT_EQ(::read(append, into.data(), 4), 0);
  EXPECT_EQ(::lseek(append, -3, SEEK_END), static_cast<off_t>(kFileBytes));
  EXPECT_EQ(::read(append, into.data(), 4), 3);
  EXPECT_STREQ(into.data(), "abc");
  ::close(append);
}

TEST_F(Calls, a_file_that_shrinks_ends_early) {
  const int file = ::open(path.c_str(), O_RDONLY);
  for (off_t at = 0; at < 100; ++at)
    EXPECT_TRUE(reads_right(file, 1000, static_cast<std::uint64_t>(at) * 1000));
  ASSERT_EQ(::truncate(path.c_str(), 100'500), 0);
  std::vector<char> into(1000);
  EXPECT_EQ(::read(file, into.data(), 1000), 500);
  EXPECT_EQ(::read(file, into.data(), 1000), 0);
  ::close(file);
}

TEST_F(Calls, a_renamed_or_removed_file_stays_open) {
  const int file = ::open(path.c_str(), O_RDONLY);
  EXPECT_TRUE(reads_right(file, 1000, 0));
  write_file(folder + "/other", 10);
  fs::rename(folder + "/other", path);
  EXPECT_TRUE(reads_right(file, 1000, 1000));
  fs::remove(path);
  EXPECT_TRUE(reads_right(file, 1000, 2000));
  ::close(file);
}

TEST_F(Calls, mapped_files_have_their_bytes) {
  const int file = ::open(path.c_str(), O_RDONLY);
  void* const mapped = ::mmap(nullptr, kFileBytes, PROT_READ, MAP_PRIVATE, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ::close(file);
  EXPECT_TRUE(is_right(static_cast<const char*>(mapped), kFileBytes, 0));
  ::munmap(mapped, kFileBytes);
}

TEST_F(Calls, streams_and_their_descriptors_agree) {
  std::FILE* const stream = std::fopen(path.c_str(), "r");
  ASSERT_NE(stream, nullptr);
  std::vector<char> into(10'000);
  EXPECT_EQ(std::fread(into.data(), 1, 1000, stream), 1000U);
  EXPECT_TRUE(is_right(into.data(), 1000, 0));
  EXPECT_EQ(std::fseek(stream, 50'000, SEEK_SET), 0);
  EXPECT_EQ(std::fread(into.data(), 10, 100, stream), 100U);
  EXPECT_TRUE(is_right(into.data(), 1000, 50'000));
  EXPECT_EQ(std::ftell(stream), 51'000);
  EXPECT_EQ(std::fgetc(stream), static_cast<unsigned char>(byte_at(51'000)));
  EXPECT_EQ(std::ungetc('x', stream), 'x');
  EXPECT_EQ(std::fread(into.data(), 1, 2, stream), 2U);
  EXPECT_EQ(into[0], 'x');
  std::rewind(stream);
  EXPECT_EQ(std::fread(into.data(), 1, 10'000, stream), 10'000U);
  EXPECT_TRUE(is_right(into.data(), 10'000, 0));
  EXPECT_EQ(std::fclose(stream), 0);
}

TEST_F(Calls, transfers_in_the_kernel_move_the_same_bytes) {
  const int from = ::open(path.c_str(), O_RDONLY);
  const int to = ::open((folder + "/copy").c_str(), O_RDWR | O_CREAT, 0600);
  off_t offset = 5000;
  EXPECT_EQ(::sendfile(to, from, &offset, 10'000), 10'000);
  EXPECT_EQ(offset, 15'000);
  EXPECT_TRUE(reads_right(from, 100, 0));
  std::vector<char> into(10'000);
  EXPECT_EQ(::pread(to, into.data(), 10'000, 0), 10'000);
  EXPECT_TRUE(is_right(into.data(), 10'000, 5000));
  ::close(from);
  ::close(to);
}

TEST_F(Calls, errors_are_those_of_the_kernel) {
  const int file = ::open(path.c_str(), O_RDONLY);
  const int to = ::open((folder + "/copy").c_str(), O_WRONLY | O_CREAT, 0600);
  EXPECT_EQ(::sendfile(to, file, reinterpret_cast<off_t*>(1), 10), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(std::fread(nullptr, 0, 0, nullptr), 0U);
  std::string text = "line\n";
  std::FILE* const memory = ::fmemopen(text.data(), text.size(), "r");
  std::array<char, 100> line{};
  errno = 0;
  while (std::fgets(line.data(), line.size(), memory) != nullptr) {
  }
  EXPECT_EQ(errno, 0);
  std::fclose(memory);
  ::close(file);
  ::close(to);
}

TEST_F(Calls, ten_thousand_files_can_be_open) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 10'100) GTEST_SKIP() << "10,000 descriptors are not permitted";
  std::vector<int> files;
  for (int i = 0; i < 10'000; ++i)
    files.push_back(::open(path.c_str(), O_RDONLY));
  ASSERT_GE(*std::ranges::min_element(files), 0);
  for (const int file : files)
    ASSERT_TRUE(reads_right(file, 10, 0));
  for (const int file : files)
    EXPECT_EQ(::close(file), 0);
}

TEST_F(Calls, threads_may_be_cancelled_in_a_read) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  pthread_t thread{};
  ASSERT_EQ(::pthread_create(
                &thread, nullptr,
                [](void* end) -> void* {
                  char byte = 0;
                  static_cast<void>(::read(*static_cast<int*>(end), &byte, 1));
                  return nullptr;
                },
                pipe.data()),
            0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(::pthread_cancel(thread), 0);
  void* result = nullptr;
  ASSERT_EQ(::pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

std::atomic<int> handler_file{-1};
std::atomic<int> handler_failures{0};
std::atomic<int> handler_calls{0};

TEST_F(Calls, signal_handlers_may_read) {
  handler_file = ::open(path.c_str(), O_RDONLY);
  struct sigaction action{};
  action.sa_handler = [](int) {
    std::array<char, 64> into;
    if (::pread(handler_file, into.data(), into.size(), 4096) != 64) ++handler_failures;
    ++handler_calls;
  };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  const int file = ::open(path.c_str(), O_RDONLY);
  std::atomic<bool> has_ended{false};
  const pthread_t self = ::pthread_self();
  std::thread sender([&] {
    while (!has_ended) {
      ::pthread_kill(self, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  for (std::uint64_t i = 0; i < 5000 || handler_calls < 20; ++i) {
    std::array<char, 64> into;
    const std::uint64_t at = i * 64 % kFileBytes;
    EXPECT_EQ(::pread(file, into.data(), into.size(), static_cast<off_t>(at)), 64);
    EXPECT_TRUE(is_right(into.data(), into.size(), at));
  }
  has_ended = true;
  sender.join();
  EXPECT_EQ(handler_failures, 0);
  ::close(file);
  ::close(handler_file);
}

TEST_F(Calls, many_threads_read) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 16; ++thread) {
    threads.emplace_back([&, thread] {
      const int file = ::open(path.c_str(), O_RDONLY);
      for (std::uint64_t i = 0; i < 500; ++i) {
        std::array<char, 100> into;
        const std::uint64_t at = (i * 7919 + thread * 104'729) % (kFileBytes - 100);
        const bool is_read = ::pread(file, into.data(), 100, static_cast<off_t>(at)) == 100;
        if (!is_read || !is_right(into.data(), 100, at)) ++failures;
      }
      ::close(file);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
}

/// Exit code of a child that runs `work`.
template <class Work>
int exit_code_of_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::syscall(SYS_exit, 0);  // the only way that strict seccomp() permits
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(Calls, programs_may_restrict_their_system_calls) {
  std::array<char, 100> into;
  for (const int flags : {O_RDONLY, O_RDWR}) {  // lseek() would follow reads of the second
    const int file = ::open(path.c_str(), flags);
    EXPECT_EQ(exit_code_of_child([&] {
                ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
                for (int i = 0; i < 100; ++i)
                  if (::read(file, into.data(), into.size()) != 100) ::syscall(SYS_exit, 1);
              }),
              0);
    ::close(file);
  }
}

#ifdef __x86_64__
TEST_F(Calls, programs_may_forbid_the_time_stamp_counter) {
  const int file = ::open(path.c_str(), O_RDONLY);
  EXPECT_EQ(exit_code_of_child([&] {
              ::prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
              if (!reads_right(file, 1000, 0)) ::syscall(SYS_exit, 1);
            }),
            0);
  ::close(file);
}
#endif

TEST_F(Calls, prctl_passes_its_arguments_and_results) {
  EXPECT_EQ(::prctl(PR_SET_NAME, "calls"), 0);
  std::array<char, 16> name{};
  EXPECT_EQ(::prctl(PR_GET_NAME, name.data()), 0);
  EXPECT_STREQ(name.data(), "calls");
  EXPECT_EQ(::prctl(-1, 0, 0, 0, 0), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Calls, child_of_a_raw_fork_reads) {
  const int file = ::open(path.c_str(), O_RDONLY);
  EXPECT_TRUE(reads_right(file, 1000, 0));
  for (std::uint64_t i = 1; i < 20; i += 2) {
    const auto child = static_cast<pid_t>(::syscall(SYS_fork));
    if (child == 0) std::_Exit(reads_right(file, 1000, i * 1000) ? 0 : 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(reads_right(file, 1000, (i + 1) * 1000));
  }
  ::close(file);
}

/// Bytes of this process that are mapped from the memory of an agent.
std::size_t shared_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::size_t total = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:forebay-run") == std::string::npos) continue;
    const auto begin = std::stoull(line, nullptr, 16);
    total += std::stoull(line.substr(line.find('-') + 1), nullptr, 16) - begin;
  }
  return total;
}

TEST_F(Calls, program_may_lock_its_memory) {
  EXPECT_EQ(exit_code_of_child([&] {
              static_cast<void>(::mlockall(MCL_CURRENT | MCL_FUTURE));  // if permitted
              std::vector<std::thread> threads;
              for (int i = 0; i < 4; ++i) {
                threads.emplace_back([&] {
                  const int file = ::open(path.c_str(), O_RDONLY);
                  if (!reads_right(file, 1000, 0)) ::_exit(1);
                });
              }
              for (std::thread& one : threads)
                one.join();
              if (shared_bytes() > 16U << 20U) ::_exit(2);  // of 69 MB
            }),
            0);
}

TEST_F(Calls, standard_streams_can_be_closed_and_opened_again) {
  EXPECT_EQ(exit_code_of_child([&] {
              ::close(0);
              ::close(1);
              std::vector<std::thread> threads;
              for (int i = 0; i < 4; ++i) {
                threads.emplace_back([&] {
                  std::array<char, 100> into;
                  const int file = ::fcntl(::open(path.c_str(), O_RDONLY), F_DUPFD, 10);
                  if (::pread(file, into.data(), 100, 0) != 100) ::_exit(1);
                });
              }
              for (std::thread& one : threads)
                one.join();
              ::close_range(0, 1, 0);
              if (::open(path.c_str(), O_RDONLY) != 0 || ::open("/dev/null", O_WRONLY) != 1)
                ::_exit(2);
              if (!reads_right(0, 100, 0)) ::_exit(3);
            }),
            0);
}

TEST_F(Calls, stream_functions_return_the_same) {
  const std::string text = folder + "/text";
  std::ofstream(text) << "first line\n" << std::string(10'000, 'y') << "\nlast";
  std::FILE* const stream = std::fopen(text.c_str(), "r");
  std::array<char, 100> into{};
  EXPECT_EQ(std::fgets(into.data(), 1, stream), into.data());
  EXPECT_STREQ(into.data(), "");
  EXPECT_EQ(std::fgets(into.data(), 6, stream), into.data());
  EXPECT_STREQ(into.data(), "first");
  EXPECT_EQ(std::fgets(into.data(), into.size(), stream), into.data());
  EXPECT_STREQ(into.data(), " line\n");
  char* line = nullptr;
  size_t room = 0;
  EXPECT_EQ(::getline(&line, &room, stream), 10'001);
  EXPECT_EQ(::getdelim(&line, &room, 's', stream), 3);
  EXPECT_EQ(std::fgetc(stream), 't');
  EXPECT_EQ(std::fgetc(stream), EOF);
  EXPECT_NE(std::feof(stream), 0);
  EXPECT_EQ(std::fgets(into.data(), into.size(), stream), nullptr);
  std::rewind(stream);
  EXPECT_EQ(getc_unlocked(stream), 'f');
  ::free(line);
  std::fclose(stream);
  std::FILE* const output = std::fopen((folder + "/out").c_str(), "w");
  EXPECT_EQ(std::fgetc(output), EOF);
  EXPECT_EQ(errno, EBADF);
  std::fclose(output);
}

TEST_F(Calls, freopen_fails_as_without) {
  std::FILE* const stream = std::fopen(path.c_str(), "r");
  EXPECT_EQ(std::fgetc(stream), static_cast<unsigned char>(byte_at(0)));
  EXPECT_EQ(std::freopen((folder + "/missing").c_str(), "r", stream), nullptr);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(Calls, closefrom_closes_all) {
  EXPECT_EQ(exit_code_of_child([&] {
              const int file = ::open(path.c_str(), O_RDONLY);
              ::closefrom(3);
              char byte = 0;
              if (::read(file, &byte, 1) != -1 || errno != EBADF) ::_exit(1);
              const int again = ::open(path.c_str(), O_RDONLY);
              if (again != 3 || !reads_right(again, 100, 0)) ::_exit(2);
            }),
            0);
}

}  // namespace
