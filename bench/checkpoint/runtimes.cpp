// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/runtimes.hpp"

#include <forebay/mpi.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace forebay::bench::checkpoint {

namespace {

struct OfTeam {
  MPI_Comm communicator;
  std::unique_ptr<Runtime> runtime;
};

std::vector<OfTeam>& all() {
  static std::vector<OfTeam> runtimes;
  return runtimes;
}

}  // namespace

Runtime& runtime_of(const Team& team) {
  for (const OfTeam& one : all())
    if (one.communicator == team.communicator) return *one.runtime;
  all().push_back({team.communicator, std::make_unique<Runtime>(team.communicator)});
  return *all().back().runtime;
}

void end_runtimes() noexcept {
  while (!all().empty())
    all().pop_back();
}

}  // namespace forebay::bench::checkpoint
