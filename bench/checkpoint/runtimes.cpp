// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/runtimes.hpp"

#include <forebay/mpi.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace forebay::bench::checkpoint {

namespace {

struct TeamRuntime {
  MPI_Comm communicator;
  std::unique_ptr<Runtime> runtime;
};

std::vector<TeamRuntime>& team_runtimes() {
  static std::vector<TeamRuntime> runtimes;
  return runtimes;
}

}  // namespace

Runtime& runtime_of(const RankTeam& team) {
  for (const TeamRuntime& one : team_runtimes())
    if (one.communicator == team.communicator) return *one.runtime;
  team_runtimes().push_back({team.communicator, std::make_unique<Runtime>(team.communicator)});
  return *team_runtimes().back().runtime;
}

void end_runtimes() noexcept {
  while (!team_runtimes().empty())
    team_runtimes().pop_back();
}

}  // namespace forebay::bench::checkpoint
