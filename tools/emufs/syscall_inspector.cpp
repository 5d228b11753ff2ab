// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/syscall_inspector.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "tools/emufs/reply_scheduler.hpp"

namespace forebay::emufs {

namespace {

using namespace std::chrono_literals;

/// The kernel writes this for a thread that is running.
constexpr std::string_view kRunning = "running";
constexpr model::Time kTimeout = 50us;

std::string_view read_start(int file, std::array<char, 128>& text) {
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// The set of signals in a line of the status that begins with `name`: signal 1 is bit 0.
std::uint64_t signals_in(std::string_view status, std::string_view name) {
  const std::size_t line = status.find(name);
  if (line == std::string_view::npos) return 0;
  std::string_view remaining = status.substr(line + name.size());
  remaining.remove_prefix(std::min(remaining.find_first_not_of(" \t"), remaining.size()));
  std::uint64_t signals = 0;
  std::from_chars(remaining.data(), remaining.data() + remaining.size(), signals, 16);
  return signals;
}

constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }

/// Signals with a default action that ends no program.
constexpr std::uint64_t kHarmless = bit_of(SIGCHLD) | bit_of(SIGCONT) | bit_of(SIGURG) |
                                    bit_of(SIGWINCH) | bit_of(SIGSTOP) | bit_of(SIGTSTP) |
                                    bit_of(SIGTTIN) | bit_of(SIGTTOU);

}  // namespace

bool has_fatal_signal(std::string_view status) {
  const std::uint64_t pending = signals_in(status, "SigPnd:") | signals_in(status, "ShdPnd:");
  const std::uint64_t survived = signals_in(status, "SigBlk:") | signals_in(status, "SigIgn:") |
                                 signals_in(status, "SigCgt:") | kHarmless;
  return (pending & ~survived) != 0;
}

bool has_pending_fatal_signal(pid_t thread) {
  const std::string path = "/proc/" + std::to_string(thread) + "/status";
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  std::array<char, 8192> text{};
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  return size > 0 && has_fatal_signal({text.data(), static_cast<std::size_t>(size)});
}

std::optional<long> parse_system_call(std::string_view text) {
  long number = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || number < 0) return std::nullopt;
  return number;
}

bool is_stat_call(long system_call) {
  switch (system_call) {
#ifdef SYS_stat
    case SYS_stat:
    case SYS_lstat:
#endif
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_statx:
      return true;
    default:
      return false;
  }
}

SyscallPurpose purpose_of(pid_t thread) {
  const std::string path = "/proc/" + std::to_string(thread) + "/syscall";
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return SyscallPurpose::kUnknown;
  std::array<char, 128> text{};
  std::string_view start = read_start(file.get(), text);
  // The thread goes to sleep after its request: this thread may be faster.
  for (const model::Time end = monotonic_now() + kTimeout;
       start.starts_with(kRunning) && monotonic_now() < end;) {
    start = read_start(file.get(), text);
  }
  const auto number = parse_system_call(start);
  if (!number) return SyscallPurpose::kUnknown;
  return is_stat_call(*number) ? SyscallPurpose::kAttributes : SyscallPurpose::kOther;
}

}  // namespace forebay::emufs
