// SPDX-License-Identifier: Apache-2.0
// Datasets written by ranks of this MPI job that are given to I/O: as the ranks are, and as if they
// were on several nodes.
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/mpi/testing.hpp"
#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

constexpr std::uint32_t kRanksAtNode = 3;

std::vector<comm::Make> makes() {
  comm::Make nodes{"nodes_of_3", [](const comm::RankTest& test) {
                     // MPI must be initialised before a rank knows which one it is.
                     int rank = 0;
                     MPI_Comm_rank(MPI_COMM_WORLD, &rank);
                     const auto number = static_cast<std::uint32_t>(rank);
                     return comm::mpi_make("", {.node = number / kRanksAtNode}).run(test);
                   }};
  return {comm::mpi_make("world"), std::move(nodes)};
}

INSTANTIATE_TEST_SUITE_P(Mpi, DedicatedDatasets, testing::ValuesIn(makes()), comm::make_name);

}  // namespace
}  // namespace forebay
