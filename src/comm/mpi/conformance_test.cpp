// SPDX-License-Identifier: Apache-2.0
// The suites on the ranks of this MPI job: as users get them, and cut into pieces so small that
// every cut is tried.
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {
namespace {

Make mpi_make(std::string name, MpiOptions options) {
  return {std::move(name), [options](const RankTest& test) -> Status {
            Result<std::shared_ptr<Communicator>> ranks = from_mpi(MPI_COMM_WORLD, options);
            if (!ranks) return tl::unexpected<Error>(ranks.error());
            test(*ranks);
            return {};
          }};
}

std::vector<Make> makes() {
  return {mpi_make("as_is", {}), mpi_make("small_pieces", {.piece_bytes = 999})};
}

INSTANTIATE_TEST_SUITE_P(Mpi, CommunicatorSuite, testing::ValuesIn(makes()), make_name);
INSTANTIATE_TEST_SUITE_P(Mpi, MessageSuite, testing::ValuesIn(makes()), make_name);
INSTANTIATE_TEST_SUITE_P(Mpi, CollectiveFileSuite, testing::ValuesIn(makes()), make_name);

}  // namespace
}  // namespace forebay::comm
