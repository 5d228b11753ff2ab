// SPDX-License-Identifier: Apache-2.0
// The communicator of the test program with MPI: all ranks of its job.
#include "flow/mpi_solver_comm.hpp"

#include <forebay/mpi.hpp>

#include "flow/dataset_store.hpp"
#include "flow/directory_store.hpp"
#include "flow/testing.hpp"

namespace forebay::flow::testing {

void for_each_comm(const std::function<void(SolverComm&)>& work) {
  MpiSolverComm comm(MPI_COMM_WORLD);
  work(comm);
}

void for_each_dataset_comm(const std::function<void(SolverComm&, const StoreOpener&)>& work) {
  for_each_comm([&](SolverComm& comm) {
    Runtime runtime(MPI_COMM_WORLD);
    work(comm, dataset_opener(runtime));
  });
}

void for_each_store(const std::function<void(SolverComm&, const StoreOpener&)>& work) {
  for_each_comm([&](SolverComm& comm) { work(comm, open_directory_store); });
  for_each_dataset_comm(work);
}

}  // namespace forebay::flow::testing
