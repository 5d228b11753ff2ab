// SPDX-License-Identifier: Apache-2.0
// Dedicated ranks of this MPI job, and the communicator that a program gets of those who compute.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/mpi/testing.hpp"
#include "runtime/testing.hpp"

namespace forebay {
namespace {

constexpr std::uint32_t kRanksAtNode = 3;

std::uint32_t world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return static_cast<std::uint32_t>(rank);
}

/// The world as it is, and as if its ranks were on several nodes.
std::vector<comm::Make> makes() {
  comm::Make world = comm::mpi_make("world");
  comm::Make nodes{"nodes_of_3", [](const comm::RankTest& test) {
                     // MPI must be initialised before a rank knows which one it is.
                     return comm::mpi_make("", {.node = world_rank() / kRanksAtNode}).run(test);
                   }};
  return {std::move(world), std::move(nodes)};
}

INSTANTIATE_TEST_SUITE_P(Mpi, DedicatedSuite, testing::ValuesIn(makes()), comm::make_name);

int size_of(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

TEST(MpiDedicated, the_communicator_has_those_who_compute) {
  Runtime runtime(MPI_COMM_WORLD, {.placement = Placement::kDedicated});
  const Ranks compute = runtime.compute();
  const MPI_Comm ours = communicator_of(compute);
  if (runtime.role() == Role::kAgent) {
    EXPECT_TRUE(ours == MPI_COMM_NULL);
    EXPECT_TRUE(runtime.serve());
    return;
  }
  const int ranks = size_of(MPI_COMM_WORLD);
  ASSERT_EQ(size_of(ours), ranks > 1 ? ranks - 1 : 1);
  int sum = 0;
  const int mine = static_cast<int>(world_rank());
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, ours);
  const int last = size_of(ours) - 1;  // the agent is the rank after it
  EXPECT_EQ(sum, last * (last + 1) / 2);
}

// What a program receives is never a message of Forebay's, whatever it asks for.
TEST(MpiDedicated, messages_of_the_program_are_alone_there) {
  const auto ranks = ranks_of(MPI_COMM_WORLD);
  Camp camp(*ranks.communicator());
  Runtime runtime(ranks, {.placement = Placement::kDedicated});
  if (runtime.role() == Role::kAgent) {
    EXPECT_TRUE(runtime.serve());
    return;
  }
  const Ranks compute = runtime.compute();
  const MPI_Comm ours = communicator_of(compute);
  const int next = static_cast<int>((runtime.rank() + 1) % runtime.rank_count());
  const std::uint32_t sent = 1000 + runtime.rank();
  std::uint32_t got = 0;
  MPI_Request requests[2];
  MPI_Irecv(&got, 1, MPI_UINT32_T, MPI_ANY_SOURCE, MPI_ANY_TAG, ours, &requests[0]);
  ASSERT_TRUE(runtime.open(camp.path()));  // Forebay's ranks talk
  MPI_Isend(&sent, 1, MPI_UINT32_T, next, 7, ours, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  const std::uint32_t before = (runtime.rank() + runtime.rank_count() - 1) % runtime.rank_count();
  EXPECT_EQ(got, 1000 + before);
}

TEST(MpiDedicated, without_dedicated_ranks_the_communicator_has_all) {
  Runtime runtime(MPI_COMM_WORLD);
  const Ranks compute = runtime.compute();
  int alike = MPI_UNEQUAL;
  MPI_Comm_compare(communicator_of(compute), MPI_COMM_WORLD, &alike);
  EXPECT_EQ(alike, MPI_CONGRUENT);
}

// Its errors are for the program to handle, in its own way.
TEST(MpiDedicated, errors_in_the_communicator_are_handled_as_in_the_program_s) {
  Runtime runtime(MPI_COMM_WORLD);
  const Ranks compute = runtime.compute();
  MPI_Errhandler theirs = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &theirs);
  MPI_Errhandler ours = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(communicator_of(compute), &ours);
  EXPECT_TRUE(ours == theirs);
  MPI_Errhandler_free(&ours);
  MPI_Errhandler_free(&theirs);
}

TEST(MpiDedicated, other_ranks_have_no_communicator_of_mpi) {
  EXPECT_TRUE(communicator_of(Ranks()) == MPI_COMM_NULL);
  EXPECT_TRUE(communicator_of(Ranks(Error({.kind = ErrorClass::kClosed}))) == MPI_COMM_NULL);
}

}  // namespace
}  // namespace forebay
