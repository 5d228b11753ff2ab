// SPDX-License-Identifier: Apache-2.0
// A Runtime on two hosts: the agent of one host reads for both, and its bytes cross the network
// once.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "comm/mpi/testing.hpp"
#include "read/testing.hpp"
#include "runtime/testing.hpp"

namespace forebay {
namespace {

constexpr std::uint64_t kFileOfHostsBytes = 20'000'003;

class NodesOnHosts : public ::testing::TestWithParam<BulkTransport> {
 protected:
  NodesOnHosts() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    // Both hosts see the files of one; the launcher gives all ranks one working directory.
    if (rank_ == 0) read::write_words(path_, kFileOfHostsBytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~NodesOnHosts() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) std::filesystem::remove(path_);
  }
  NodesOnHosts(const NodesOnHosts&) = delete;
  NodesOnHosts& operator=(const NodesOnHosts&) = delete;

  int rank_ = 0;
  const std::string path_ = "forebay-nodes-on-hosts.dat";
};

TEST_P(NodesOnHosts, agent_of_one_host_reads_for_both) {
  Runtime runtime(MPI_COMM_WORLD, {.tuning = {.bulk_transport = GetParam()}});
  const auto file = runtime.open_file(path_);
  ASSERT_TRUE(file) << file.error().message();
  ReadPlan plan;
  plan.tuning.agent_nodes = {1};
  const auto session = file->read_session({}, plan);
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_TRUE(read::reads_words(*session, {0, kFileOfHostsBytes}));
  const SessionReport report = session->report();
  const bool is_at_node_1 = report.bytes_from_nodes == 0;
  const bool is_at_node_0 = report.bytes_from_nodes == report.bytes_read;
  EXPECT_NE(is_at_node_0, is_at_node_1) << report.bytes_from_nodes << " of " << report.bytes_read;
  EXPECT_EQ(is_at_node_0, static_cast<std::uint32_t>(rank_) < runtime.rank_count() / 2);
  MPI_Barrier(MPI_COMM_WORLD);
}

INSTANTIATE_TEST_SUITE_P(Hosts,
                         TunedSessionsSuite,
                         ::testing::Values(comm::mpi_factory("world")),
                         comm::factory_name);

INSTANTIATE_TEST_SUITE_P(Bulks,
                         NodesOnHosts,
                         ::testing::Values(BulkTransport::kAuto, BulkTransport::kTcp),
                         [](const auto& one) {
                           return one.param == BulkTransport::kAuto ? "auto" : "links";
                         });

}  // namespace
}  // namespace forebay
