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
                         testing::Values(comm::mpi_make("world")),
                         comm::make_name);

TEST(MpiRuntime, is_made_of_a_communicator) {
  int rank = 0;
  int count = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  Runtime runtime(MPI_COMM_WORLD);
  EXPECT_EQ(runtime.rank(), static_cast<std::uint32_t>(rank));
  EXPECT_EQ(runtime.rank_count(), static_cast<std::uint32_t>(count));
  EXPECT_FALSE(runtime.open("/no/such/file"));
}

TEST(MpiRuntime, no_communicator_is_an_error_of_the_first_call) {
  Runtime runtime(MPI_COMM_NULL, RuntimeOptions{});
  const auto file = runtime.open("any");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().path(), "any");
}

}  // namespace
}  // namespace forebay
