// SPDX-License-Identifier: Apache-2.0
// I/O ranks of this MPI job, and the communicator of the compute ranks that a program gets.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/mpi/testing.hpp"
#include "comm/ranks_access.hpp"
#include "runtime/testing.hpp"

namespace forebay {
namespace {

constexpr std::uint32_t kRanksAtNode = 3;

std::uint32_t world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return static_cast<std::uint32_t>(rank);
}

/// The world as it is, and with its ranks on several simulated nodes.
std::vector<comm::CommunicatorFactory> factories() {
  comm::CommunicatorFactory world = comm::mpi_factory("world");
  comm::CommunicatorFactory nodes{
      "nodes_of_3", [](const comm::RankTest& test) {
        // MPI must be initialized before a rank can query its number.
        return comm::mpi_factory("", {.node = world_rank() / kRanksAtNode}).run(test);
      }};
  return {std::move(world), std::move(nodes)};
}

INSTANTIATE_TEST_SUITE_P(Mpi, DedicatedSuite, testing::ValuesIn(factories()), comm::factory_name);

int size_of(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

TEST(MpiDedicated, communicator_has_the_compute_ranks) {
  Runtime runtime(MPI_COMM_WORLD, {.placement = Placement::kDedicated});
  const Ranks compute = runtime.compute_ranks();
  const MPI_Comm ours = communicator_of(compute);
  if (runtime.role() == Role::kIo) {
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

// A program never receives a message of Forebay, even from any source with any tag.
TEST(MpiDedicated, communicator_carries_only_messages_of_the_program) {
  const auto ranks = ranks_of(MPI_COMM_WORLD);
  DedicatedFixture fixture(*comm::ranks_communicator(ranks));
  Runtime runtime(ranks, {.placement = Placement::kDedicated});
  if (runtime.role() == Role::kIo) {
    EXPECT_TRUE(runtime.serve());
    return;
  }
  const Ranks compute = runtime.compute_ranks();
  const MPI_Comm ours = communicator_of(compute);
  const int next = static_cast<int>((runtime.rank() + 1) % runtime.rank_count());
  const std::uint32_t sent = 1000 + runtime.rank();
  std::uint32_t got = 0;
  MPI_Request requests[2];
  MPI_Irecv(&got, 1, MPI_UINT32_T, MPI_ANY_SOURCE, MPI_ANY_TAG, ours, &requests[0]);
  ASSERT_TRUE(runtime.open_file(fixture.path()));  // Forebay's ranks exchange messages
  MPI_Isend(&sent, 1, MPI_UINT32_T, next, 7, ours, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  const std::uint32_t before = (runtime.rank() + runtime.rank_count() - 1) % runtime.rank_count();
  EXPECT_EQ(got, 1000 + before);
}

TEST(MpiDedicated, without_io_ranks_communicator_has_all_ranks) {
  Runtime runtime(MPI_COMM_WORLD);
  const Ranks compute = runtime.compute_ranks();
  int alike = MPI_UNEQUAL;
  MPI_Comm_compare(communicator_of(compute), MPI_COMM_WORLD, &alike);
  EXPECT_EQ(alike, MPI_CONGRUENT);
}

// The error handler of the program also handles errors of this communicator.
TEST(MpiDedicated, communicator_has_error_handler_of_the_program) {
  Runtime runtime(MPI_COMM_WORLD);
  const Ranks compute = runtime.compute_ranks();
  MPI_Errhandler theirs = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &theirs);
  MPI_Errhandler ours = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(communicator_of(compute), &ours);
  EXPECT_TRUE(ours == theirs);
  MPI_Errhandler_free(&ours);
  MPI_Errhandler_free(&theirs);
}

TEST(MpiDedicated, ranks_without_mpi_have_no_communicator) {
  EXPECT_TRUE(communicator_of(Ranks()) == MPI_COMM_NULL);
  EXPECT_TRUE(communicator_of(Ranks(Error({.kind = ErrorClass::kClosed}))) == MPI_COMM_NULL);
}

}  // namespace
}  // namespace forebay
