// SPDX-License-Identifier: Apache-2.0
// Facts about the machine, from /proc, /sys and the C library.
#include "tools/probe/host_info.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/probe/text_file.hpp"

namespace forebay::probe {
namespace {

std::uint64_t bytes_of_kib(const std::string& text) {
  return text.empty() ? 0 : std::strtoull(text.c_str(), nullptr, 10) * 1024;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::vector<Cache> find_caches() {
  namespace fs = std::filesystem;
  std::vector<Cache> caches;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/cpu/cpu0/cache", none)) {
    if (entry.path().filename().string().rfind("index", 0) != 0) continue;
    caches.push_back({static_cast<unsigned>(read_number(entry.path() / "level").value_or(0)),
                      lower(read_text(entry.path() / "type")),
                      bytes_of_kib(read_text(entry.path() / "size"))});
  }
  std::sort(caches.begin(), caches.end(), [](const Cache& a, const Cache& b) {
    return std::tie(a.level, a.kind) < std::tie(b.level, b.kind);
  });
  return caches;
}

std::string kernel_release() {
  utsname names{};
  return uname(&names) == 0 ? std::string(names.release) : std::string();
}

std::string distribution() {
  std::string name = value_after(read_text("/etc/os-release"), "PRETTY_NAME=");
  std::erase(name, '"');
  return name;
}

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 0;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

double ticks_per_second() { return static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK))); }

struct ProcessTime {
  long parent = 0;
  double seconds = 0;  ///< user and system, of the process and of children that it has waited for
};

/// Parses a process's "stat". The name, which may hold any character, ends with the last bracket.
/// The parent is the second word after it; the times are the twelfth and the three that follow.
ProcessTime parse_process_time(const std::string& stat) {
  constexpr int kParent = 2;
  constexpr int kFirstTime = 12;
  constexpr int kLastTime = 15;
  ProcessTime found;
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return found;
  std::istringstream words(stat.substr(name_end + 1));
  std::string word;
  for (int number = 1; number <= kLastTime && words >> word; ++number) {
    if (number == kParent) found.parent = std::strtol(word.c_str(), nullptr, 10);
    if (number >= kFirstTime) found.seconds += std::strtod(word.c_str(), nullptr);
  }
  found.seconds /= ticks_per_second();
  return found;
}

}  // namespace

HostInfo describe_host() {
  const std::string memory = read_text("/proc/meminfo");
  HostInfo machine;
  machine.cpu_model = value_after(read_text("/proc/cpuinfo"), "model name");
  machine.cores_online = static_cast<unsigned>(std::max(0L, sysconf(_SC_NPROCESSORS_ONLN)));
  machine.cores_usable = usable_cores();
  machine.caches = find_caches();
  machine.memory_bytes = bytes_of_kib(value_after(memory, "MemTotal:"));
  machine.memory_available_bytes = bytes_of_kib(value_after(memory, "MemAvailable:"));
  machine.page_bytes = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  machine.kernel = kernel_release();
  machine.system = distribution();
  machine.huge_pages = selected_choice(read_text("/sys/kernel/mm/transparent_hugepage/enabled"));
  return machine;
}

LoadAverage current_load_average() {
  std::istringstream text(read_text("/proc/loadavg"));
  LoadAverage load;
  text >> load.one_minute >> load.five_minutes >> load.fifteen_minutes;
  return load;
}

double program_cpu_seconds() {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::path own = fs::read_symlink("/proc/self/exe", none);
  double seconds = 0;
  for (const auto& entry : fs::directory_iterator("/proc", none)) {
    if (own.empty() || fs::read_symlink(entry.path() / "exe", none) != own) continue;
    const ProcessTime time = parse_process_time(read_text(entry.path() / "stat"));
    if (time.parent == ::getppid()) seconds += time.seconds;
  }
  return seconds;
}

double busy_cpu_seconds() {
  std::istringstream line(read_text("/proc/stat"));
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, irq = 0, soft_irq = 0, steal = 0;
  line >> name >> user >> nice >> system >> idle >> io_wait >> irq >> soft_irq >> steal;
  return (user + nice + system + irq + soft_irq + steal) / ticks_per_second();
}

nlohmann::json to_json(const HostInfo& machine) {
  auto caches = nlohmann::json::array();
  for (const Cache& one : machine.caches) {
    caches.push_back({{"level", one.level}, {"kind", one.kind}, {"bytes", one.size_bytes}});
  }
  return {{"cpu_model", machine.cpu_model},
          {"cores_online", machine.cores_online},
          {"cores_usable", machine.cores_usable},
          {"caches", std::move(caches)},
          {"memory_bytes", machine.memory_bytes},
          {"memory_available_bytes", machine.memory_available_bytes},
          {"page_bytes", machine.page_bytes},
          {"kernel", machine.kernel},
          {"system", machine.system},
          {"huge_pages", machine.huge_pages}};
}

nlohmann::json to_json(const LoadAverage& load) {
  return nlohmann::json::array({load.one_minute, load.five_minutes, load.fifteen_minutes});
}

}  // namespace forebay::probe
