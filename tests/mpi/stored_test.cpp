// SPDX-License-Identifier: Apache-2.0
// Datasets read by the ranks of this MPI job.
#include <gtest/gtest.h>

#include "comm/mpi/testing.hpp"
#include "runtime/stored_testing.hpp"

namespace forebay {
namespace {

INSTANTIATE_TEST_SUITE_P(Mpi,
                         StoredRanksSuite,
                         testing::Values(comm::mpi_make("world")),
                         comm::make_name);

}  // namespace
}  // namespace forebay
