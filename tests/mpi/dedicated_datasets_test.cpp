// SPDX-License-Identifier: Apache-2.0
// Datasets written by I/O ranks of this MPI job: with its nodes as they are, and with simulated
// nodes.
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/mpi/testing.hpp"
#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

constexpr std::uint32_t kRanksAtNode = 3;

std::vector<comm::CommunicatorFactory> factories() {
  comm::CommunicatorFactory nodes{
      "nodes_of_3", [](const comm::RankTest& test) {
        // MPI must be initialized before a rank can query its number.
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        const auto number = static_cast<std::uint32_t>(rank);
        return comm::mpi_factory("", {.node = number / kRanksAtNode}).run(test);
      }};
  return {comm::mpi_factory("world"), std::move(nodes)};
}

INSTANTIATE_TEST_SUITE_P(Mpi,
                         DedicatedDatasets,
                         testing::ValuesIn(factories()),
                         comm::factory_name);

}  // namespace
}  // namespace forebay
