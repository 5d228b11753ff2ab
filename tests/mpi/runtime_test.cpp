// SPDX-License-Identifier: Apache-2.0
// A Runtime of the ranks of this MPI job.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <gtest/gtest.h>

#include "comm/mpi/testing.hpp"
#include "runtime/testing.hpp"

namespace forebay {
namespace {

INSTANTIATE_TEST_SUITE_P(Mpi,
                         RanksSuite,
                         testing::Values(comm::mpi_factory("world")),
                         comm::factory_name);

INSTANTIATE_TEST_SUITE_P(Mpi,
                         TunedSessionsSuite,
                         testing::Values(comm::mpi_factory("world")),
                         comm::factory_name);

TEST(MpiRuntime, runtime_has_ranks_of_communicator) {
  int rank = 0;
  int count = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  Runtime runtime(MPI_COMM_WORLD);
  EXPECT_EQ(runtime.rank(), static_cast<std::uint32_t>(rank));
  EXPECT_EQ(runtime.rank_count(), static_cast<std::uint32_t>(count));
  EXPECT_FALSE(runtime.open_file("/no/such/file"));
}

TEST(MpiRuntime, null_communicator_fails_first_call) {
  Runtime runtime(MPI_COMM_NULL, RuntimeOptions{});
  const auto file = runtime.open_file("any");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().path(), "any");
}

}  // namespace
}  // namespace forebay
