// SPDX-License-Identifier: Apache-2.0
// The suites on the ranks of this MPI job: with default options, and with parts so small that
// every split is tested.
#include "comm/message_transport_testing.hpp"
#include "comm/mpi/testing.hpp"

namespace forebay::comm {
namespace {

std::vector<CommunicatorFactory> factories() {
  return {mpi_factory("as_is"), mpi_factory("small_parts", {.part_bytes = 999})};
}

INSTANTIATE_TEST_SUITE_P(Mpi, CommunicatorSuite, testing::ValuesIn(factories()), factory_name);
INSTANTIATE_TEST_SUITE_P(Mpi, MessageSuite, testing::ValuesIn(factories()), factory_name);
INSTANTIATE_TEST_SUITE_P(Mpi, CollectiveFileSuite, testing::ValuesIn(factories()), factory_name);
INSTANTIATE_TEST_SUITE_P(Mpi,
                         MessageTransportSuite,
                         testing::Values(mpi_factory("as_is")),
                         factory_name);

}  // namespace
}  // namespace forebay::comm
