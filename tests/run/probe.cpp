// SPDX-License-Identifier: Apache-2.0
// run_probe SCENARIO: makes the calls of a case of records_test.cpp in the current directory, which
// has the files "a" and "b" of 100,000 bytes. Exit code 0: the results were right.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/run_memory.hpp"

extern char** environ;

namespace {

using namespace forebay::trace;

thread_local std::array<char, 100'000> into;

[[noreturn]] void fail(int line) {
  std::fprintf(stderr, "line %d: %s\n", line, std::strerror(errno));
  std::exit(1);
}

#define CHECK(condition) \
  if (!(condition)) fail(__LINE__)

int open_to_read(const char* path, int flags = O_RDONLY) {
  const int file = ::open(path, flags);
  CHECK(file >= 0);
  return file;
}

void read_bytes(int file, std::size_t bytes) {
  CHECK(::read(file, into.data(), bytes) == static_cast<ssize_t>(bytes));
}

void wait_for(pid_t child) {
  int status = 0;
  CHECK(child > 0 && ::waitpid(child, &status, 0) == child && status == 0);
}

/// Whether the part of this process is active, as other processes see it.
bool is_active() {
  const int file = ::open(std::getenv("FOREBAY_RUN_MEMORY"), O_RDONLY);
  CHECK(file >= 0);
  void* const mapped = ::mmap(nullptr, kRunHeadBytes, PROT_READ, MAP_SHARED, file, 0);
  CHECK(mapped != MAP_FAILED);
  for (const RunProcess& one : static_cast<const RunMemory*>(mapped)->processes) {
    if (one.pid == static_cast<std::uint32_t>(::getpid()) && one.state == RunPartState::kActive)
      return true;
  }
  return false;
}

template <class Fork>
void fork_without_handlers(Fork fork_now) {
  const int file = open_to_read("a");
  read_bytes(file, 100);
  const pid_t child = fork_now();
  if (child == 0) {
    read_bytes(file, 200);
    std::thread([] { read_bytes(open_to_read("b"), 300); }).join();
    std::exit(0);  // runs the destructor of the library
  }
  wait_for(child);
  CHECK(is_active());
  CHECK(::pread(file, into.data(), 400, 5000) == 400);
}

void raw_fork() {
  fork_without_handlers([] { return static_cast<pid_t>(::syscall(SYS_fork)); });
}

void raw_clone() {
  fork_without_handlers(
      [] { return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); });
}

void fork_that_ends_its_thread() {
  read_bytes(open_to_read("a"), 100);
  const auto child = static_cast<pid_t>(::syscall(SYS_fork));
  if (child == 0) ::pthread_exit(nullptr);  // with the ring of its parent
  wait_for(child);
  read_bytes(open_to_read("a"), 400);
}

void exit_in_child_of_vfork() {
  const int file = open_to_read("a");
  read_bytes(file, 100);
  const pid_t child = ::vfork();
  if (child == 0) {
    read_bytes(file, 200);
    ::close(file);
    ::_exit(0);
  }
  wait_for(child);
  read_bytes(file, 300);
}

void execute() {
  read_bytes(open_to_read("a"), 100);
  ::execl("/bin/cat", "cat", "a", nullptr);
  fail(__LINE__);
}

void execute_all_ways() {
  char word[] = "x";
  char* const words[] = {word, nullptr};
  const int file = ::open("b", O_RDONLY | O_CLOEXEC);
  const int folder = ::open(".", O_PATH | O_CLOEXEC);
  CHECK(::execve(reinterpret_cast<const char*>(8), words, environ) == -1 && errno == EFAULT);
  CHECK(::execve("/no/1", words, environ) == -1 && errno == ENOENT);
  CHECK(::execv("./no-2", words) == -1 && errno == ENOENT);
  CHECK(::execvp("no-3", words) == -1 && errno == ENOENT);
  CHECK(::execvpe("./no-4", words, environ) == -1 && errno == ENOENT);
  CHECK(::fexecve(file, words, environ) == -1 && errno == EACCES);
  CHECK(::execveat(folder, "no-5", words, environ, 0) == -1 && errno == ENOENT);
  CHECK(::execl("no-6", "x", "y", nullptr) == -1 && errno == ENOENT);
  CHECK(::execlp("no-7", "x", nullptr) == -1 && errno == ENOENT);
  CHECK(::execle("/no/8", "x", "y", "z", nullptr, environ) == -1 && errno == ENOENT);
  pid_t child = 0;
  CHECK(::posix_spawn(&child, "no-9", nullptr, nullptr, words, environ) == ENOENT);
  CHECK(::posix_spawnp(&child, "no-10", nullptr, nullptr, words, environ) == ENOENT);
  child = ::vfork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", "test $0 = first -a $1 = second", "first", "second", nullptr);
    ::_exit(1);
  }
  wait_for(child);
  const char* const environment[] = {"ONLY=this", nullptr};
  child = ::fork();
  if (child == 0) {
    ::execle("/bin/sh", "sh", "-c", "test $ONLY = this -a -z \"$HOME\"", nullptr, environment);
    ::_exit(1);
  }
  wait_for(child);
}

/// The read end of a pipe that holds 100 bytes, with the number of `descriptor`, which is free.
void put_pipe_at(int descriptor) {
  int pipe[2];
  CHECK(::pipe(pipe) == 0 && pipe[0] == descriptor);
  CHECK(::write(pipe[1], into.data(), 100) == 100);
}

/// Reads "a", frees its descriptor by a call, and reads from a pipe with that number.
template <class Free>
void reuse_number(Free free_number) {
  const int file = open_to_read("a");
  read_bytes(file, 300);
  free_number(file);
  put_pipe_at(file);
  read_bytes(file, 100);
}

void reuse_after_failing_freopen() {
  reuse_number([](int file) {
    std::FILE* const stream = ::fdopen(file, "r");
    CHECK(std::freopen("missing", "r", stream) == nullptr && errno == ENOENT);
  });
}

void reuse_after_fclose() {
  reuse_number([](int file) { CHECK(std::fclose(::fdopen(file, "r")) == 0); });
}

void reuse_after_closefrom() {
  reuse_number([](int file) { ::closefrom(file); });
}

/// close() that the library does not see, and an open() that it does.
template <class Open>
void reuse_after_raw_close(Open open_other) {
  reuse_number([&](int file) {
    ::syscall(SYS_close, file);
    CHECK(open_other() == file);
    ::syscall(SYS_close, file);
  });
}

void reuse_after_open_to_write() {
  reuse_after_raw_close([] { return ::open("b", O_WRONLY); });
}
void reuse_after_open_of_path() {
  reuse_after_raw_close([] { return ::open("b", O_PATH); });
}
void reuse_after_creat() {
  reuse_after_raw_close([] { return ::creat("c", 0600); });
}
void reuse_after_fopen_to_write() {
  reuse_after_raw_close([] { return ::fileno(std::fopen("c", "w")); });
}

void duplicate_onto_a_number() {
  const int file = open_to_read("a");
  read_bytes(file, 300);
  int pipe[2];
  CHECK(::pipe(pipe) == 0 && ::write(pipe[1], into.data(), 100) == 100);
  CHECK(::dup2(pipe[0], file) == file);
  read_bytes(file, 100);
}

void read_lines_and_characters() {
  std::FILE* const stream = std::fopen("a", "r");
  for (int i = 0; i < 5000; ++i)
    CHECK(std::fgetc(stream) != EOF);
  CHECK(std::fseek(stream, 50'000, SEEK_SET) == 0);
  CHECK(std::getc(stream) != EOF);
  CHECK(std::fread(into.data(), 1, 20'000, stream) == 20'000);
  std::rewind(stream);
  CHECK(std::fgets(into.data(), 50, stream) != nullptr);
  while (getc_unlocked(stream) != EOF) {
  }
  CHECK(std::fgetc(stream) == EOF && std::fgetc(stream) == EOF);
}

void mix_stream_and_descriptor() {
  const int file = open_to_read("a");
  read_bytes(file, 100);
  std::FILE* const stream = ::fdopen(file, "r");
  CHECK(std::fread(into.data(), 1, 10, stream) == 10);
  CHECK(::lseek(file, 0, SEEK_CUR) > 110);
  CHECK(::lseek(file, 70'000, SEEK_SET) == 70'000);
  read_bytes(file, 77);
}

void read_without_read() {
  const int file = open_to_read("a");
  CHECK(::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE, file, 4096) != MAP_FAILED);
  CHECK(::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  aiocb request{};
  request.aio_fildes = file;
  request.aio_buf = into.data();
  request.aio_nbytes = 1000;
  request.aio_offset = 20'000;
  CHECK(::aio_read(&request) == 0);
  const aiocb* const requests[] = {&request};
  while (::aio_error(&request) == EINPROGRESS)
    ::aio_suspend(requests, 1, nullptr);
  CHECK(::aio_return(&request) == 1000);
  request.aio_lio_opcode = LIO_READ;
  aiocb none{};
  none.aio_lio_opcode = LIO_NOP;
  aiocb* const list[] = {&none, nullptr, &request};
  CHECK(::lio_listio(LIO_WAIT, list, 3, nullptr) == 0 && ::aio_return(&request) == 1000);
  CHECK(::lio_listio(77, list, 3, nullptr) == -1 && errno == EINVAL);
  int pipe[2];
  CHECK(::pipe(pipe) == 0);
  off_t offset = 30'000;
  CHECK(::splice(file, &offset, pipe[1], nullptr, 500, 0) == 500 && offset == 30'500);
  CHECK(::splice(file, nullptr, pipe[1], nullptr, 600, 0) == 600);
}

void many_threads() {
  for (int round = 0; round < 2; ++round) {
    std::array<std::thread, 8> threads;
    for (std::thread& one : threads)
      one = std::thread([] { read_bytes(open_to_read("a"), 100); });
    for (std::thread& one : threads)
      one.join();
  }
}

void new_pid_namespace() {
  read_bytes(open_to_read("a"), 100);
  if (::unshare(CLONE_NEWPID) != 0) std::exit(77);
  const pid_t child = ::fork();
  if (child == 0) {
    CHECK(::getpid() == 1);
    read_bytes(open_to_read("b"), 200);
    std::exit(0);
  }
  wait_for(child);
}

RunMemory& whole_memory() {
  const int file = ::open(std::getenv("FOREBAY_RUN_MEMORY"), O_RDWR);
  CHECK(file >= 0);
  void* const mapped =
      ::mmap(nullptr, sizeof(RunMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(mapped != MAP_FAILED);
  return *static_cast<RunMemory*>(mapped);
}

void thread_ends_after_recording() {
  std::atomic<int> step{0};
  std::thread reader([&] {
    read_bytes(open_to_read("a"), 100);
    for (step = 1; step != 2;)
      std::this_thread::yield();
  });
  while (step != 1)
    std::this_thread::yield();
  RunMemory& memory = whole_memory();
  CHECK(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);  // ends recording
  memory.rings[0].state = RunPartState::kTaken;          // by another process, after the agent
  step = 2;
  reader.join();
  CHECK(memory.rings[0].state == RunPartState::kTaken);
}

char* const kDd[] = {const_cast<char*>("dd"),          const_cast<char*>("bs=200"),
                     const_cast<char*>("count=1"),     const_cast<char*>("of=/dev/null"),
                     const_cast<char*>("status=none"), nullptr};

/// Another program moves the position by 200 bytes.
template <class Start>
void executed_program_moves_the_position(Start start) {
  const int file = open_to_read("a");
  read_bytes(file, 100);
  wait_for(start(file));
  read_bytes(file, 300);
}

void spawned_program_moves_the_position() {
  executed_program_moves_the_position([](int file) {
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, file, 0);
    pid_t child = 0;
    CHECK(::posix_spawnp(&child, "dd", &actions, nullptr, kDd, environ) == 0);
    return child;
  });
}

void program_after_vfork_moves_the_position() {
  executed_program_moves_the_position([](int file) {
    const pid_t child = ::vfork();
    if (child == 0) {
      ::dup2(file, 0);
      ::execvp("dd", kDd);
      ::_exit(1);
    }
    return child;
  });
}

void opens_more_files_than_numbers() {
  for (int i = 0; i < 70'000; ++i)
    ::close(open_to_read("b"));
  read_bytes(open_to_read("a"), 100);
}

void reads_more_files_than_numbers() {
  RunMemory& memory = whole_memory();
  for (int i = 0; i < 65'600; ++i) {
    const int file = open_to_read("a");
    read_bytes(file, 1);
    ::close(file);
    if (memory.opens.front() != nullptr) memory.opens.pop();
  }
}

void failed_dlopen_keeps_its_error() {
  CHECK(::dlopen("/missing", RTLD_NOW) == nullptr);
  std::FILE* const stream = std::fopen("a", "r");
  CHECK(std::fgets(into.data(), 50, stream) != nullptr && std::fgetc(stream) == 'x');
  CHECK(std::fread(into.data(), 1, 20'000, stream) == 20'000 && std::fclose(stream) == 0);
  iovec part{into.data(), 10};
  CHECK(::readv(open_to_read("a"), &part, 1) == 10);
  CHECK(::dlerror() != nullptr);
}

/// While the linker waits for a thread, this one cannot ask it for a function.
void thread_reads_during_dlopen() {
  const std::string folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  CHECK(::dlopen((folder + "/libtest_run_thread_module.so").c_str(), RTLD_NOW) != nullptr);
}

/// A process that has waited for storage, and a thread in the lock of the dynamic linker.
void child_of_fork_ends_without_the_dynamic_linker() {
  CHECK(::mkfifo("fifo", 0600) == 0);
  std::thread writer([] {
    const int file = ::open("fifo", O_WRONLY);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(::write(file, "x", 1) == 1);
  });
  read_bytes(open_to_read("fifo"), 1);
  writer.join();
  static std::atomic<int> step{0};
  std::thread linker([] {
    ::dl_iterate_phdr(
        [](dl_phdr_info*, std::size_t, void*) {
          for (step = 1; step != 2;)
            std::this_thread::yield();
          return 1;
        },
        nullptr);
  });
  while (step != 1)
    std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    std::exit(0);
  }
  wait_for(child);
  step = 2;
  linker.join();
}

extern "C" char* __fgets_chk(char* into, std::size_t size, int room, std::FILE* stream);

void read_checked_and_64_bit() {
  std::FILE* const stream = std::fopen("a", "r");
  CHECK(__fgets_chk(into.data(), into.size(), 50, stream) != nullptr);
  fpos64_t place{};
  CHECK(::fgetpos64(stream, &place) == 0);
  place.__pos = 50'000;
  CHECK(::fsetpos64(stream, &place) == 0 && std::fgetc(stream) == 'x');
}

struct Scenario {
  const char* name;
  void (*run)();
};

#define SCENARIO(name) {#name, name}

constexpr Scenario kScenarios[] = {SCENARIO(raw_fork),
                                   SCENARIO(raw_clone),
                                   SCENARIO(fork_that_ends_its_thread),
                                   SCENARIO(exit_in_child_of_vfork),
                                   SCENARIO(execute),
                                   SCENARIO(execute_all_ways),
                                   SCENARIO(reuse_after_failing_freopen),
                                   SCENARIO(reuse_after_fclose),
                                   SCENARIO(reuse_after_closefrom),
                                   SCENARIO(reuse_after_open_to_write),
                                   SCENARIO(reuse_after_open_of_path),
                                   SCENARIO(reuse_after_creat),
                                   SCENARIO(reuse_after_fopen_to_write),
                                   SCENARIO(duplicate_onto_a_number),
                                   SCENARIO(read_lines_and_characters),
                                   SCENARIO(mix_stream_and_descriptor),
                                   SCENARIO(read_without_read),
                                   SCENARIO(many_threads),
                                   SCENARIO(new_pid_namespace),
                                   SCENARIO(thread_ends_after_recording),
                                   SCENARIO(spawned_program_moves_the_position),
                                   SCENARIO(program_after_vfork_moves_the_position),
                                   SCENARIO(opens_more_files_than_numbers),
                                   SCENARIO(reads_more_files_than_numbers),
                                   SCENARIO(failed_dlopen_keeps_its_error),
                                   SCENARIO(thread_reads_during_dlopen),
                                   SCENARIO(child_of_fork_ends_without_the_dynamic_linker),
                                   SCENARIO(read_checked_and_64_bit)};

}  // namespace

int main(int count, char** words) {
  for (const Scenario& one : kScenarios) {
    if (count != 2 || std::string_view(words[1]) != one.name) continue;
    one.run();
    return 0;
  }
  return 2;
}
