// SPDX-License-Identifier: Apache-2.0
// Steps simulated as flows, compared with the simulation of each request, and on constructed
// machines for which the time can be computed by hand.
#include "write/flow_simulation.hpp"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "write/simulated_step.hpp"

namespace forebay::write {
namespace {

model::Machine shipped_machine(const std::string& name) {
  const std::array<std::filesystem::path, 1> directories{FOREBAY_SOURCE_DIR "/machines"};
  auto machine = model::load_machine(name, directories);
  EXPECT_TRUE(machine) << machine.error().message();
  return *machine;
}

/// Ranks on `nodes` nodes, with these bytes.
WriteFacts job_of(const model::Machine& machine,
                  std::uint32_t nodes,
                  std::vector<std::uint64_t> bytes) {
  WriteFacts facts{.machine = &machine};
  for (std::uint64_t rank = 0; rank < bytes.size(); ++rank)
    facts.rank_layout.node_of_compute_rank.push_back(
        static_cast<std::uint32_t>(rank * nodes / bytes.size()));
  facts.step_bytes = std::move(bytes);
  return facts;
}

std::vector<std::uint64_t> exponential_bytes(std::uint32_t ranks, double mean) {
  std::vector<std::uint64_t> bytes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const double quantile = (((rank * 37) % ranks) + 0.5) / ranks;
    bytes.push_back(static_cast<std::uint64_t>(-std::log(quantile) * mean));
  }
  return bytes;
}

WritePlan complete(const WriteFacts& facts, const WritePlan& requested) {
  auto plan = plan_write(facts, requested);
  EXPECT_TRUE(plan) << plan.error().message();
  return *plan;
}

StepCost cost_of(const WriteFacts& facts, const WritePlan& plan) {
  return FlowSimulator(facts, plan).run(facts.step_bytes);
}

TEST(FlowSimulator, uneven_steps_are_near_the_simulation_of_requests) {
  std::vector<double> errors;
  for (const char* name : {"lustre-small", "gpfs-small", "pvfs-small"}) {
    const model::Machine machine = shipped_machine(name);
    const WriteFacts facts = job_of(machine, 4, exponential_bytes(64, 8e6));
    for (const std::uint32_t writers : {4U, 8U, 16U, 32U, 64U}) {
      for (const std::uint32_t files : {writers, writers / 2}) {
        const WritePlan plan = complete(
            facts, {.strategy = Strategy::kReducedBlocking, .writers = writers, .files = files});
        const std::chrono::duration<double, std::micro> simulated =
            simulate_step(facts, plan).written;
        const double ratio = cost_of(facts, plan).written_us / simulated.count();
        errors.push_back(std::abs(std::log(ratio)));
        EXPECT_GT(ratio, 0.6) << name << ", " << writers << " writers, " << files << " files";
        EXPECT_LT(ratio, 1.7) << name << ", " << writers << " writers, " << files << " files";
      }
    }
  }
  std::ranges::sort(errors);
  EXPECT_LT(std::exp(errors[errors.size() / 2]), 1.1) << "the median";
}

/// Storage of 1000 MB/s in all, without latency; one rank on each node.
model::Machine fast_machine(std::uint32_t nodes) {
  model::Machine machine;
  machine.name = "fast";
  machine.client.count = nodes;
  machine.client.request_bytes_max = 1_MiB;
  machine.servers = {
      {.count = 10, .concurrency = 64, .bandwidth_mb_per_s = 100, .write_bandwidth_mb_per_s = 100}};
  return machine;
}

TEST(FlowSimulator, longest_flow_gets_the_bandwidth_that_others_leave) {
  model::Machine machine = fast_machine(2);
  machine.client.link_bandwidth_mb_per_s = 100;
  const WriteFacts facts = job_of(machine, 2, {100'000'000, 300'000'000});
  const WritePlan plan = complete(facts, plan_of(Strategy::kFilePerProcess));
  EXPECT_NEAR(cost_of(facts, plan).storage_us / 1e6, 3, 0.1) << "by the link of the second node";
  machine.client.link_bandwidth_mb_per_s = 0;
  machine.storage.write_mb_per_s = 100;
  EXPECT_NEAR(cost_of(facts, plan).storage_us / 1e6, 4, 0.1) << "by the limit of all servers";
}

TEST(FlowSimulator, job_on_few_nodes_reaches_few_io_nodes) {
  model::Machine machine = fast_machine(8);
  machine.client.count = 64;
  machine.io_nodes = {.count = 16, .bandwidth_mb_per_s = 50};
  const WriteFacts facts = job_of(machine, 8, std::vector<std::uint64_t>(8, 50'000'000));
  const auto time_s = [&](std::uint32_t writers) {
    const WritePlan plan =
        complete(facts, {.strategy = Strategy::kReducedBlocking, .writers = writers});
    const double flows_us = cost_of(facts, plan).storage_us;
    EXPECT_NEAR(step_cost(facts, plan).storage_us / flows_us, 1, 0.05);
    return flows_us / 1e6;
  };
  EXPECT_NEAR(time_s(8), 4, 0.1) << "four nodes behind each of two I/O nodes";
  EXPECT_NEAR(time_s(1), 8, 0.1) << "all bytes through one I/O node";
}

TEST(FlowSimulator, stages_that_overlap_incompletely_take_longer) {
  model::Machine machine = fast_machine(4);
  machine.io_nodes = {.count = 4, .bandwidth_mb_per_s = 250};
  machine.storage = {.write_mb_per_s = 1000, .stage_power = 1};
  const WriteFacts facts = job_of(machine, 4, std::vector<std::uint64_t>(4, 250'000'000));
  const WritePlan plan = complete(facts, plan_of(Strategy::kFilePerProcess));
  const StepCost flows = cost_of(facts, plan);
  const StepCost formula = step_cost(facts, plan);
  EXPECT_NEAR(flows.written_us / formula.written_us, 1, 0.05) << "equal flows";
  EXPECT_GT(flows.written_us, 1.9e6) << "1 s in the I/O nodes, then 1 s in the servers";
}

/// Of equal ranks, on all machines that Forebay ships, with plans of all strategies.
TEST(FlowSimulator, equal_ranks_take_as_long_as_by_the_formula) {
  for (const char* name : {"bgl", "bridges2", "gpfs-small", "intrepid", "intrepid-described",
                           "lustre-small", "nfs", "pvfs-small"}) {
    const model::Machine machine = shipped_machine(name);
    const WriteFacts facts = job_of(machine, 64, std::vector<std::uint64_t>(256, 4_MiB));
    for (const Strategy strategy :
         {Strategy::kSerial, Strategy::kFilePerProcess, Strategy::kBaton, Strategy::kCollective,
          Strategy::kReducedBlocking, Strategy::kBrigade, Strategy::kGather}) {
      for (const std::uint32_t files : {1U, 16U}) {
        const bool has_one = strategy == Strategy::kSerial || strategy == Strategy::kFilePerProcess;
        const WritePlan plan =
            complete(facts, {.strategy = strategy, .files = has_one ? 0 : files});
        const double ratio =
            cost_of(facts, plan).durable_us() / step_cost(facts, plan).durable_us();
        EXPECT_GT(ratio, 0.6) << name << ", " << name_of(strategy) << ", " << files << " files";
        EXPECT_LT(ratio, 1.7) << name << ", " << name_of(strategy) << ", " << files << " files";
      }
    }
  }
}

TEST(FlowSimulator, largest_power_is_the_slowest_stage) {
  model::Machine machine = shipped_machine("intrepid");
  const WriteFacts facts = job_of(machine, 64, std::vector<std::uint64_t>(256, 4_MiB));
  const WritePlan plan = complete(facts, plan_of(Strategy::kReducedBlocking));
  machine.storage.stage_power = 64;
  EXPECT_TRUE(std::isfinite(step_cost(facts, plan).durable_us()));
  EXPECT_TRUE(std::isfinite(cost_of(facts, plan).durable_us()));
  EXPECT_LT(step_cost(facts, plan).durable_us(), 10e6);
}

TEST(FlowSimulator, empty_ranks_write_nothing) {
  const model::Machine machine = fast_machine(3);
  const WriteFacts facts = job_of(machine, 3, {0, 0, 100'000'000});
  const WritePlan plan = complete(facts, plan_of(Strategy::kFilePerProcess));
  EXPECT_NEAR(cost_of(facts, plan).storage_us / 1e6, 0.1, 0.01);
  EXPECT_EQ(FlowSimulator(facts, plan).run(std::vector<std::uint64_t>(3)).storage_us, 0);
}

TEST(FlowSimulator, steps_of_one_job_do_not_affect_each_other) {
  const model::Machine machine = shipped_machine("lustre-small");
  const auto small = exponential_bytes(64, 1e6);
  const WriteFacts facts = job_of(machine, 4, exponential_bytes(64, 8e6));
  const WritePlan plan = complete(facts, plan_of(Strategy::kBaton));
  FlowSimulator simulator(facts, plan);
  const double first = simulator.run(facts.step_bytes).written_us;
  simulator.run(small);
  EXPECT_EQ(simulator.run(facts.step_bytes).written_us, first);
}

}  // namespace
}  // namespace forebay::write
