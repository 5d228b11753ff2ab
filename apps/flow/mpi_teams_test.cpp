// SPDX-License-Identifier: Apache-2.0
// The team of the test program with MPI: all ranks of the job it runs in.
#include <forebay/mpi.hpp>

#include "flow/dataset_store.hpp"
#include "flow/folder_store.hpp"
#include "flow/mpi_team.hpp"
#include "flow/testing.hpp"

namespace forebay::flow::testing {

void on_each_team(const std::function<void(Team&)>& work) {
  MpiTeam team(MPI_COMM_WORLD);
  work(team);
}

void on_dataset_teams(const std::function<void(Team&, const StoreOpener&)>& work) {
  on_each_team([&](Team& team) {
    Runtime runtime(MPI_COMM_WORLD);
    work(team, dataset_opener(runtime));
  });
}

void on_each_store(const std::function<void(Team&, const StoreOpener&)>& work) {
  on_each_team([&](Team& team) { work(team, open_folder_store); });
  on_dataset_teams(work);
}

}  // namespace forebay::flow::testing
