// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/subprocess.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/retry_on_eintr.hpp"
#include "bench/frame/clock.hpp"

namespace forebay::bench::cube {

namespace {

constexpr int kFailed = 1;
constexpr std::uint64_t kKilo = 1024;

tl::unexpected<Error> io_failure(const std::string& what, int reason) {
  return failure(system_error({.operation = what}, reason));
}

void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = retry_on_eintr([&] { return ::write(to, text.data(), text.size()); });
    if (count < 0) return;  // the reader has closed the pipe
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

Result<std::string> read_all(int from) {
  std::string text;
  std::array<char, 65536> piece{};
  for (;;) {
    const ssize_t count = retry_on_eintr([&] { return ::read(from, piece.data(), piece.size()); });
    if (count < 0) return io_failure("read from a process", errno);
    if (count == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

/// The bytes written by a process that has ended and was not reaped; includes its threads.
std::optional<std::uint64_t> written_bytes_of(pid_t process) {
  std::ifstream counts(fmt::format("/proc/{}/io", process));
  std::optional<std::uint64_t> most;
  std::string name;
  for (std::uint64_t value = 0; counts >> name >> value;) {
    if (name == "wchar:" || name == "write_bytes:") most = std::max(most.value_or(0), value);
  }
  return most;
}

/// In the child: resets the signal mask of the benchmark, and ends with the parent.
void isolate_child(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kFailed);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// `run` writes to the given descriptor and returns the exit code.
Result<SubprocessRun> run_child_process(const std::function<int(int output)>& run) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_failure("create a pipe", errno);
  Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const Stopwatch watch;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return io_failure("create a process", errno);
  if (child == 0) {
    isolate_child(parent);
    ::_exit(run(to.get()));
  }
  to = Descriptor();
  auto output = read_all(from.get());
  siginfo_t ended{};
  retry_on_eintr(
      [&] { return ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT); });
  SubprocessRun done{.total_s = watch.seconds(), .written_bytes = written_bytes_of(child)};
  int status = 0;
  rusage usage{};
  retry_on_eintr([&] { return ::wait4(child, &status, 0, &usage); });
  if (!output) return failure(output.error());
  done.memory_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * kKilo;
  done.output = std::move(*output);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return done;
  return failure({.kind = ErrorClass::kIo,
                  .operation = "run an optimization stage",
                  .cause = WIFSIGNALED(status)
                               ? fmt::format("killed by signal {}", WTERMSIG(status))
                               : done.output});
}

}  // namespace

Result<SubprocessRun> run_in_subprocess(const std::function<Result<std::string>()>& work) {
  return run_child_process([&](int output) {
    try {
      const Result<std::string> text = work();
      write_all(output, text ? *text : text.error().message());
      return text ? 0 : kFailed;
    } catch (const std::exception& thrown) {
      write_all(output, thrown.what());
      return kFailed;
    }
  });
}

Result<SubprocessRun> run_program_in_subprocess(const std::vector<std::string>& words) {
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return run_child_process([&](int output) {
    ::dup2(output, STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    return kFailed;
  });
}

}  // namespace forebay::bench::cube
