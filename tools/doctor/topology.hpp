// SPDX-License-Identifier: Apache-2.0
// Processor topology of the machine by hwloc: the cores that tasks and agents share, and the L2
// cache. A window that fits one core's L2 is copied faster than a large one.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace forebay::doctor {

struct Topology {
  unsigned packages = 0;
  unsigned numa_nodes = 0;
  unsigned cores = 0;
  unsigned hardware_threads = 0;
  std::uint64_t l2_bytes = 0;  ///< of one core
  std::uint64_t l3_bytes = 0;  ///< of one package; 0 if there is no L3 cache
};

/// All zero if hwloc fails.
Topology find_topology();

/// "1 package, 1 NUMA node, 2 cores, 2 hardware threads".
std::string summary_of(const Topology& topology);

nlohmann::json to_json(const Topology& topology);

}  // namespace forebay::doctor
