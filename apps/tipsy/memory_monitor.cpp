// SPDX-License-Identifier: Apache-2.0
#include "tipsy/memory_monitor.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace forebay::tipsy {

namespace {

constexpr std::chrono::milliseconds kInterval{50};

/// The value of a line "Name:   123 kB" in a file of /proc, in bytes; 0 if the line is missing.
std::uint64_t read_entry(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words(line.substr(name.size()));
    std::uint64_t kibibytes = 0;
    words >> kibibytes;
    return kibibytes * 1024;
  }
  return 0;
}

std::uint64_t pss_bytes_now() { return read_entry("/proc/self/smaps_rollup", "Pss:"); }

}  // namespace

MemoryMonitor::MemoryMonitor()
    : thread_([this](const std::stop_token& stop) { sample_loop(stop); }) {}

void MemoryMonitor::sample_loop(const std::stop_token& stopping) {
  std::unique_lock lock(mutex_);
  do {
    pss_bytes_max_ = std::max(pss_bytes_max_, pss_bytes_now());
  } while (
      !stopped_.wait_for(lock, stopping, kInterval, [&] { return stopping.stop_requested(); }));
}

PeakMemory MemoryMonitor::stop() {
  thread_.request_stop();
  thread_.join();
  return {std::max(pss_bytes_max_, pss_bytes_now()), read_entry("/proc/self/status", "VmHWM:")};
}

}  // namespace forebay::tipsy
