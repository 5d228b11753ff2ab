// SPDX-License-Identifier: Apache-2.0
// The ranks of a Runtime, divided once and for all into those that compute and those that only
// read and write for others. Each of the two groups gets a communicator of its own, so that nothing
// collective ever waits for a rank that serves; and all have one together, for what those who serve
// were called to.
#pragma once

#include <forebay/error.hpp>
#include <forebay/ranks.hpp>
#include <forebay/runtime.hpp>

#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "runtime/placement.hpp"

namespace forebay {

struct Division {
  std::shared_ptr<comm::Communicator> all;   ///< every rank
  std::shared_ptr<comm::Communicator> ours;  ///< the ranks of this role, for Forebay's messages
  /// Every rank, those that compute first, so that they have the same numbers here and in `ours`.
  std::shared_ptr<comm::Communicator> computing_first;
  std::uint32_t computing = 0;     ///< how many these are
  Ranks application;               ///< those that compute, for the program's messages
  std::vector<NodePlaces> places;  ///< by node; the same on all ranks
  NodePlaces here;                 ///< of this rank's node
  Role role = Role::kCompute;
};

/// Collective, by all ranks. Fails on all of them with kInvalidArgument if they want different
/// things.
Result<Division> divide(const Ranks& ranks, Placement wanted);

}  // namespace forebay
