// SPDX-License-Identifier: Apache-2.0
// Tests that fail on rank 1, so that other tests can check that this is detected.
#include <gtest/gtest.h>
#include <mpi.h>

namespace {

bool is_rank_1() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 1;
}

TEST(OneFails, and_continues) {
  EXPECT_FALSE(is_rank_1());
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(OneFails, and_stops) {
  ASSERT_FALSE(is_rank_1());
  MPI_Barrier(MPI_COMM_WORLD);  // rank 1 never gets here
}

}  // namespace
