// SPDX-License-Identifier: Apache-2.0
// Before MPI_Init and after MPI_Finalize: an Error, and no call for which MPI would abort. A
// separate program, as MPI is initialized once in a process.
#include <gtest/gtest.h>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {
namespace {

TEST(MpiLifetime, application_initializes_and_finalizes_mpi) {
  const auto too_early = from_mpi(MPI_COMM_WORLD);
  ASSERT_EQ(error_class(too_early), ErrorClass::kUnsupported);

  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  auto ranks = value_or_throw(from_mpi(MPI_COMM_WORLD), "from_mpi");
  EXPECT_TRUE(ranks->barrier());
  MPI_Finalize();

  EXPECT_EQ(error_class(ranks->barrier()), ErrorClass::kClosed);
  EXPECT_EQ(error_class(ranks->duplicate()), ErrorClass::kClosed);
  Bytes bytes(1);
  EXPECT_EQ(error_class(ranks->send(bytes, Rank{0}, {}).wait()), ErrorClass::kClosed);
  EXPECT_EQ(error_class(from_mpi(MPI_COMM_WORLD)), ErrorClass::kClosed);
  ranks.reset();
}

}  // namespace
}  // namespace forebay::comm
