// SPDX-License-Identifier: Apache-2.0
// What this machine is: processor, caches, memory, kernel, load. Numbers of a benchmark mean
// nothing without it, and the doctor's advice rests on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace forebay::probe {

/// One cache as processor 0 sees it.
struct Cache {
  unsigned level = 0;
  std::string kind;  ///< "data", "instruction" or "unified"
  std::uint64_t size_bytes = 0;
};

struct Machine {
  std::string cpu_model;
  unsigned cores_online = 0;
  unsigned cores_usable = 0;  ///< those this process may run on
  std::vector<Cache> caches;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_available_bytes = 0;
  std::uint64_t page_bytes = 0;
  std::string kernel;
  std::string system;      ///< name and version of the distribution
  std::string huge_pages;  ///< when the kernel hands out transparent huge pages: "always",
                           ///< "madvise", "never"
};

/// The usual three averages of runnable threads.
struct Load {
  double one_minute = 0;
  double five_minutes = 0;
  double fifteen_minutes = 0;
};

/// Facts that cannot be found are left empty or 0.
Machine describe_machine();
Load current_load();

/// Processor time all processes have used since the machine started, in seconds. The difference
/// over a run, minus the run's own, says how much others disturbed it, which a load average tells
/// only late.
double busy_cpu_seconds();

/// The same of all processes that run the calling one's program and were started by the same
/// parent, as the ranks of a job are on a node, and of the children that they have waited for; 0
/// where /proc does not tell.
double program_cpu_seconds();

nlohmann::json to_json(const Machine& machine);
nlohmann::json to_json(const Load& load);

}  // namespace forebay::probe
