// SPDX-License-Identifier: Apache-2.0
// What tests of sharing have in common: other processes that never outlive a test, and deadlines
// that only a broken program reaches. For tests only.
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

/// Long enough for the busiest machine: only what hangs gets there.
inline Deadline in_a_minute() { return SteadyClock::shared().now() + std::chrono::seconds(60); }
/// For waits that are expected to find nothing.
inline Deadline in_a_moment() { return SteadyClock::shared().now() + std::chrono::milliseconds(5); }

/// More memory than this machine has, and whole pages of it.
inline std::uint64_t more_than_the_machine_has() {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return (pages + 1) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// A process that runs `work` and ends with what it returns (0..255). It is killed and reaped at
/// the latest when this is destroyed.
class Child {
 public:
  template <class Work>
  explicit Child(const Work& work) : pid_(::fork()) {
    FOREBAY_ASSERT(pid_ >= 0);
    if (pid_ == 0) ::_exit(work());
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    kill();
    reap();
  }

  pid_t pid() const noexcept { return pid_; }
  void kill() const noexcept { send(SIGKILL); }
  void send(int signal) const noexcept {
    if (pid_ > 0) ::kill(pid_, signal);
  }
  /// What it returned; nothing if it was ended by a signal, or by us after a minute.
  std::optional<int> result() {
    auto watch = watch_process(pid_);
    const int descriptor = watch ? watch->get() : -1;
    if (!wait_readable({&descriptor, 1}, in_a_minute())) kill();
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
