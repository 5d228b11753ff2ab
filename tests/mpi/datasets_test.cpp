// SPDX-License-Identifier: Apache-2.0
// Datasets written by the ranks of this MPI job.
#include <gtest/gtest.h>

#include "comm/mpi/testing.hpp"
#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

INSTANTIATE_TEST_SUITE_P(Mpi,
                         DatasetSuite,
                         testing::Values(comm::mpi_factory("world")),
                         comm::factory_name);

}  // namespace
}  // namespace forebay
