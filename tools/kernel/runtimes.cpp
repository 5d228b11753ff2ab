// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/runtimes.hpp"

#include <forebay/mpi.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace forebay::kernel {

namespace {

std::vector<std::pair<MPI_Comm, std::unique_ptr<Runtime>>>& runtimes() {
  static std::vector<std::pair<MPI_Comm, std::unique_ptr<Runtime>>> all;
  return all;
}

}  // namespace

Runtime& runtime_of(MPI_Comm communicator) {
  for (auto& [known, runtime] : runtimes())
    if (known == communicator) return *runtime;
  runtimes().emplace_back(communicator, std::make_unique<Runtime>(communicator));
  return *runtimes().back().second;
}

Result<MPI_Comm> start_dedicated(MPI_Comm communicator) {
  auto runtime =
      std::make_unique<Runtime>(communicator, RuntimeOptions{.placement = Placement::kDedicated});
  if (runtime->role() == Role::kIo) {
    if (const Status served = runtime->serve(); !served) return failure(served.error());
    return MPI_COMM_NULL;
  }
  const MPI_Comm compute = communicator_of(runtime->compute_ranks());
  runtimes().emplace_back(compute, std::move(runtime));
  return compute;
}

void end_runtimes() { runtimes().clear(); }

}  // namespace forebay::kernel
