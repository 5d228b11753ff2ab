// SPDX-License-Identifier: Apache-2.0
// The ranks of an MPI job as a factory for the suites of ranks. For tests only.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {

/// All ranks of the job that the test runs in.
inline CommunicatorFactory mpi_factory(std::string name, const MpiOptions& options = {}) {
  return {std::move(name), [options](const RankTest& test) -> Status {
            const Result<std::shared_ptr<Communicator>> ranks = from_mpi(MPI_COMM_WORLD, options);
            if (!ranks) return failure(ranks.error());
            test(*ranks);
            return {};
          }};
}

}  // namespace forebay::comm
