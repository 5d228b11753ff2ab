// SPDX-License-Identifier: Apache-2.0
// Facts about this machine: processor, caches, memory, kernel, load. Benchmark results are
// meaningless without them, and the doctor's advice depends on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace forebay::probe {

/// One cache of processor 0.
struct Cache {
  unsigned level = 0;
  std::string kind;  ///< "data", "instruction" or "unified"
  std::uint64_t size_bytes = 0;
};

struct HostInfo {
  std::string cpu_model;
  unsigned cores_online = 0;
  unsigned cores_usable = 0;  ///< on which this process may run
  std::vector<Cache> caches;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_available_bytes = 0;
  std::uint64_t page_bytes = 0;
  std::string kernel;
  std::string system;      ///< name and version of the distribution
  std::string huge_pages;  ///< use of transparent huge pages: "always", "madvise", "never"
};

/// The usual three averages of runnable threads.
struct LoadAverage {
  double one_minute = 0;
  double five_minutes = 0;
  double fifteen_minutes = 0;
};

/// Unknown facts are empty or 0.
HostInfo describe_host();
LoadAverage current_load_average();

/// Processor time of all processes since the machine started, in seconds. Its difference over a
/// run, minus the run's own time, measures the disturbance by others, which a load average shows
/// only late.
double busy_cpu_seconds();

/// Processor time of all processes that run the calling process's program and have the same parent,
/// as the ranks of a job on a node. Includes the children that they have waited for. 0 if /proc is
/// not readable.
double program_cpu_seconds();

nlohmann::json to_json(const HostInfo& machine);
nlohmann::json to_json(const LoadAverage& load);

}  // namespace forebay::probe
