// SPDX-License-Identifier: Apache-2.0
// Shared code of tests of shared memory: child processes that never outlive a test, and deadlines
// that only a defect reaches. For tests only.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "shm/process_watch.hpp"
#include "shm/readiness.hpp"

namespace forebay::shm {

/// Long enough for the busiest machine: only a hang reaches it.
inline Deadline test_deadline() { return SteadyClock::shared().now() + std::chrono::seconds(60); }
/// For waits that are expected to time out.
inline Deadline short_deadline() {
  return SteadyClock::shared().now() + std::chrono::milliseconds(5);
}

/// More memory than this machine has, in whole pages.
inline std::uint64_t more_than_physical_memory() {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return (pages + 1) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// A process that runs `work` and ends with its result (0..255). The destructor kills and reaps it
/// at the latest.
class ChildProcess {
 public:
  template <class Work>
  explicit ChildProcess(const Work& work) : pid_(::fork()) {
    FOREBAY_ASSERT(pid_ >= 0);
    if (pid_ == 0) ::_exit(work());
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() {
    kill();
    reap();
  }

  pid_t pid() const noexcept { return pid_; }
  void kill() const noexcept { send(SIGKILL); }
  void send(int signal) const noexcept {
    if (pid_ > 0) ::kill(pid_, signal);
  }
  /// The exit code; no value if a signal ended it, or exit_code() did after a minute.
  std::optional<int> exit_code() {
    auto watch = watch_process(pid_);
    const int descriptor = watch ? watch->get() : -1;
    if (!wait_readable({&descriptor, 1}, test_deadline())) kill();
    const int status = reap();
    return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
  }

 private:
  int reap() noexcept {
    int status = 0;
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }
  pid_t pid_;
};

}  // namespace forebay::shm
