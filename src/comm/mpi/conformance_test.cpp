// SPDX-License-Identifier: Apache-2.0
// The suites on the ranks of this MPI job: as users get them, and cut into pieces so small that
// every cut is tried.
#include "comm/mpi/testing.hpp"
#include "comm/post_office_testing.hpp"

namespace forebay::comm {
namespace {

std::vector<Make> makes() {
  return {mpi_make("as_is"), mpi_make("small_pieces", {.piece_bytes = 999})};
}

INSTANTIATE_TEST_SUITE_P(Mpi, CommunicatorSuite, testing::ValuesIn(makes()), make_name);
INSTANTIATE_TEST_SUITE_P(Mpi, MessageSuite, testing::ValuesIn(makes()), make_name);
INSTANTIATE_TEST_SUITE_P(Mpi, CollectiveFileSuite, testing::ValuesIn(makes()), make_name);
INSTANTIATE_TEST_SUITE_P(Mpi, PostOfficeSuite, testing::Values(mpi_make("as_is")), make_name);

}  // namespace
}  // namespace forebay::comm
