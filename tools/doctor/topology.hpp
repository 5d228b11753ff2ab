// SPDX-License-Identifier: Apache-2.0
// How the machine's processors hang together, as hwloc sees it: how many cores tasks and agents
// share, and the L2 cache, as a window that fits one core's is copied faster than a large one.
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
  std::uint64_t l3_bytes = 0;  ///< of one package; 0 if there is none
};

/// All zero if hwloc cannot look.
Topology find_topology();

/// "1 package, 1 NUMA node, 2 cores, 2 hardware threads".
std::string summary_of(const Topology& topology);

nlohmann::json to_json(const Topology& topology);

}  // namespace forebay::doctor
