// SPDX-License-Identifier: Apache-2.0
// Number of cores that the ranks of a node may use together, as their launcher bound them. Agents
// get the cores that remain while all ranks compute.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "base/processors.hpp"
#include "comm/communicator.hpp"

namespace forebay {

/// The cores of one rank, as it sends them to others.
struct CoreSet {
  std::uint64_t hash = 0;  ///< equal for ranks that share the same cores
  std::uint32_t cores = 0;
};

/// The cores of a process that may run on the processors `allowed`, which are sorted. Pure.
CoreSet core_set_of(const std::vector<Processor>& machine, const std::vector<int>& allowed);

/// The number of cores of ranks on one node. Two ranks must share all of their cores or none. 0:
/// unknown. Pure.
std::uint32_t total_cores(std::span<const CoreSet> core_sets);

/// Collective. Returns on the first rank the number of cores of each node for the ranks of `ranks`,
/// 0 if unknown. Returns no numbers on all other ranks.
Result<std::vector<std::uint32_t>> count_node_cores(comm::Communicator& ranks);

}  // namespace forebay
