// SPDX-License-Identifier: Apache-2.0
#include "model/read_cost.hpp"

#include <gtest/gtest.h>

namespace forebay::model {
namespace {

/// 16 nodes before 8 servers of 500 MB/s with a latency of 2 ms, and 100 us for each open.
Machine parallel_machine() {
  Machine machine;
  machine.name = "parallel";
  machine.client.count = 16;
  machine.client.cores = 32;
  machine.servers = {{.count = 8, .latency_us = 2000, .concurrency = 8, .bandwidth_mb_per_s = 500}};
  machine.metadata = {.open_us = 100};
  return machine;
}

ReadJob job_of(std::uint64_t tasks) {
  return {.bytes = 4_GiB, .tasks = tasks, .ranks = 512, .nodes = 16};
}

constexpr ReadShape kSession{.agents = 16, .request_bytes = 1_MiB, .queue_depth = 8};

TEST(ReadCost, session_takes_the_same_time_for_any_number_of_tasks) {
  const Machine machine = parallel_machine();
  const double few_us = read_cost(machine, job_of(32), kSession).total_us;
  const double many_us = read_cost(machine, job_of(16'384), kSession).total_us;
  EXPECT_LT(many_us, 1.05 * few_us);
  EXPECT_NEAR(few_us / 1e6, 4096 * 1.048576 / 4000, 0.1) << "at the bandwidth of all servers";
}

TEST(ReadCost, tasks_that_open_the_file_wait_for_the_metadata_server) {
  const Machine machine = parallel_machine();
  const ReadCost many = read_cost(machine, job_of(65'536), {.method = ReadMethod::kPerCall});
  EXPECT_NEAR(many.open_us, 6'553'600, 1);
  EXPECT_GT(many.total_us, many.open_us);
  const ReadCost shared = read_cost(machine, job_of(65'536), {.method = ReadMethod::kShared});
  EXPECT_NEAR(shared.open_us, 51'200, 1) << "each rank opens it";
}

TEST(ReadCost, few_tasks_use_few_links) {
  Machine machine = parallel_machine();
  machine.client.link_bandwidth_mb_per_s = 1000;
  const ReadShape shared{.method = ReadMethod::kShared};
  EXPECT_NEAR(read_cost(machine, job_of(1), shared).read_us / 1e6, 4.3, 0.6);
  EXPECT_LT(read_cost(machine, job_of(512), shared).read_us / 1e6, 1.2);
}

TEST(ReadCost, limits_of_storage_and_io_nodes_apply) {
  Machine machine = parallel_machine();
  machine.storage.read_mb_per_s = 1000;
  EXPECT_NEAR(read_cost(machine, job_of(32), kSession).read_us / 1e6, 4.294967296, 1e-6);
  machine.io_nodes = {.count = 4, .bandwidth_mb_per_s = 100};
  EXPECT_NEAR(read_cost(machine, job_of(32), kSession).read_us / 1e6, 10.73741824, 1e-6);
}

TEST(ReadCost, memory_of_an_agent_does_not_depend_on_tasks) {
  const Machine machine = parallel_machine();
  EXPECT_EQ(read_cost(machine, job_of(32), kSession).memory_bytes, 16_MiB);
  EXPECT_EQ(read_cost(machine, job_of(16'384), kSession).memory_bytes, 16_MiB);
  EXPECT_EQ(read_cost(machine, job_of(4), {.method = ReadMethod::kPerCall}).memory_bytes, 1_GiB);
}

}  // namespace
}  // namespace forebay::model
