// SPDX-License-Identifier: Apache-2.0
// How many cores the ranks of a node may use together, by what a launcher gave each of them: what
// is left of them while all ranks compute is what agents have.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "base/processors.hpp"
#include "comm/communicator.hpp"

namespace forebay {

/// The cores of one rank, as others hear of them.
struct CoreShare {
  std::uint64_t name = 0;  ///< equal for ranks that share the same ones
  std::uint32_t cores = 0;
};

/// Of a process that may run on the processors `allowed`, which are sorted. Pure.
CoreShare core_share(const std::vector<Processor>& machine, const std::vector<int>& allowed);

/// Of ranks on one node: those that share cores share all of them, or none. 0: not known. Pure.
std::uint32_t cores_together(std::span<const CoreShare> shares);

/// Collective. On the first rank the cores of its node, for the ranks of `ranks`, 0 if they are not
/// known; on the others 0.
Result<std::uint32_t> cores_of_first_node(comm::Communicator& ranks);

}  // namespace forebay
