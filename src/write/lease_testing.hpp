// SPDX-License-Identifier: Apache-2.0
// For tests of leases: a clock whose waits take no time, a recorder of log lines, and `owner` files
// as other processes, hosts and versions leave them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "format/lease_holder.hpp"
#include "write/lease_holder.hpp"

namespace forebay::write {

/// Advances by each wait, and calls `on_sleep` before it.
class SimulatedClock final : public LeaseClock {
 public:
  TimePoint now() const noexcept override { return TimePoint() + std::chrono::hours(1) + waited(); }
  bool sleep_for(std::chrono::milliseconds time) override {
    if (on_sleep) on_sleep();
    waited_ms_ += time.count();
    return !is_cancelled;
  }
  std::chrono::milliseconds waited() const noexcept {
    return std::chrono::milliseconds(waited_ms_.load());
  }

  std::function<void()> on_sleep = {};
  bool is_cancelled = false;

 private:
  std::atomic<std::int64_t> waited_ms_{0};
};

class LogRecorder final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view line) noexcept override {
    lines.emplace_back(line);
  }
  std::vector<std::string> lines;
};

/// Writes the file as a version without locks leaves it.
inline void write_lease_file(const std::string& path, const format::LeaseHolder& holder) {
  std::ofstream(path) << format::encode_lease_holder(holder);
}

/// Sets the time of the file: a heartbeat of a holder without a lock.
inline void set_mtime(const std::string& path, std::int64_t second) {
  const timespec times[2] = {{.tv_sec = second, .tv_nsec = 0}, {.tv_sec = second, .tv_nsec = 0}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

/// Writes the file as a process leaves it that was killed while it had the lock.
inline void write_locked_lease_file(const std::string& path, format::LeaseHolder holder) {
  std::ofstream(path).flush();
  struct stat facts{};
  ::stat(path.c_str(), &facts);
  holder.device = facts.st_dev;
  holder.inode = facts.st_ino;
  holder.is_locked = true;
  write_lease_file(path, holder);
}

}  // namespace forebay::write
