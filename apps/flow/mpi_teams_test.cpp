// SPDX-License-Identifier: Apache-2.0
// The team of the test program with MPI: all ranks of the job it runs in.
#include "flow/mpi_team.hpp"
#include "flow/testing.hpp"

namespace forebay::flow::testing {

void on_each_team(const std::function<void(Team&)>& work) {
  MpiTeam team(MPI_COMM_WORLD);
  work(team);
}

}  // namespace forebay::flow::testing
