// SPDX-License-Identifier: Apache-2.0
// Whole steps simulated on constructed machines, for which each part of the time can be computed by
// hand.
#include "write/simulated_step.hpp"

#include <gtest/gtest.h>

#include "write/simulated_exchange.hpp"

namespace forebay::write {
namespace {

using std::chrono::milliseconds;

/// One server: 10 ms for a request, 100 MB/s, and 1 ms for a name; `nodes` clients.
model::Machine plain_machine(std::uint32_t nodes) {
  model::Machine machine;
  machine.client.count = nodes;
  machine.servers = {{.latency_us = 10'000,
                      .concurrency = 100,
                      .bandwidth_mb_per_s = 0,
                      .write_latency_us = 10'000}};
  machine.metadata = {.create_us = 1000, .open_us = 1000};
  return machine;
}

/// Each rank is alone on its node.
WriteFacts facts_of(const model::Machine& machine, std::uint32_t ranks, std::uint64_t each) {
  WriteFacts facts{.step_bytes = {each}, .machine = &machine};
  for (RankNumber rank = 0; rank < ranks; ++rank)
    facts.rank_layout.node_of_compute_rank.push_back(rank);
  return facts;
}

WritePlan plan_for(const WriteFacts& facts, const WritePlan& requested) {
  auto plan = plan_write(facts, requested);
  EXPECT_TRUE(plan) << plan.error().message();
  return *plan;
}

TEST(SimulatedStep, step_is_durable_after_files_bytes_indexes_and_slot) {
  const model::Machine machine = plain_machine(2);
  const WriteFacts facts = facts_of(machine, 2, 128_KiB);
  const WritePlan plan = plan_for(facts, {.strategy = Strategy::kFilePerProcess});
  const SimulatedStep step = simulate_step(facts, plan);
  EXPECT_EQ(step.files_opened, milliseconds(2)) << "one file after the other";
  EXPECT_EQ(step.exchanged, milliseconds(0));
  EXPECT_EQ(step.written, milliseconds(2 + 10));
  EXPECT_EQ(step.durable, milliseconds(2 + 10 + 10 + 10));
  EXPECT_EQ(simulate_write_time(facts, plan), step.written);
}

TEST(SimulatedStep, step_is_durable_after_syncs_of_files_directory_and_slot) {
  model::Machine machine = plain_machine(2);
  machine.servers.front().sync_us = 20'000;
  machine.metadata.sync_us = 5000;
  const WriteFacts facts = facts_of(machine, 2, 128_KiB);
  const SimulatedStep step =
      simulate_step(facts, plan_for(facts, {.strategy = Strategy::kFilePerProcess}));
  EXPECT_EQ(step.written, milliseconds(2 + 10)) << "no sync before";
  // The indexes are written 1 ms apart, so the second sync waits for the commit of the first.
  constexpr int kIndexes = 11 + 10;
  EXPECT_EQ(step.durable, milliseconds(kIndexes + 2 * 20 + 5 + 10 + 20));
}

TEST(SimulatedStep, writers_on_other_nodes_sync_before_the_index) {
  model::Machine machine = plain_machine(3);
  machine.servers.front().sync_us = 20'000;
  WriteFacts facts = facts_of(machine, 3, 64_KiB);
  const auto durable = [&facts] {
    return simulate_step(facts, plan_for(facts, {.strategy = Strategy::kBaton, .files = 1}))
        .durable;
  };
  // The third writer ends at 31 ms. Its sync waits for that of the second, which began at 21 ms.
  constexpr int kWritten = 1 + 3 * 10;
  constexpr int kRemote = 10 + 20;
  constexpr int kIndexAndSync = 10 + 20;
  EXPECT_EQ(durable(), milliseconds(kWritten + kRemote + kIndexAndSync + kIndexAndSync));
  facts.rank_layout.node_of_compute_rank = {0, 0, 0};
  EXPECT_EQ(durable(), milliseconds(kWritten + kIndexAndSync + kIndexAndSync));
}

TEST(SimulatedStep, baton_writes_one_rank_at_a_time) {
  const model::Machine machine = plain_machine(3);
  const WriteFacts facts = facts_of(machine, 3, 64_KiB);
  const WritePlan plan = plan_for(facts, {.strategy = Strategy::kBaton, .files = 1});
  EXPECT_EQ(simulate_step(facts, plan).written, milliseconds(1 + 3 * 10));
}

TEST(SimulatedStep, collective_rounds_follow_largest_rank) {
  const model::Machine machine = plain_machine(3);
  WriteFacts facts = facts_of(machine, 3, 0);
  facts.step_bytes = {1_MiB, 4_MiB, 1_MiB};
  const WritePlan plan = plan_for(
      facts, {.strategy = Strategy::kCollective, .files = 1, .tuning = {.unit_bytes = 1_MiB}});
  EXPECT_EQ(simulate_step(facts, plan).written, milliseconds(3 + 4 * 10))
      << "a file for each rank would have taken 10 ms";
}

TEST(ExchangeSimulation, no_exchange_if_each_rank_writes) {
  const model::Machine machine = plain_machine(2);
  const WriteFacts facts = facts_of(machine, 2, 128_KiB);
  const WritePlan plan = plan_for(facts, {.strategy = Strategy::kFilePerProcess});
  std::uint64_t bytes = 0;
  for (const Arrival& arrival : simulate_arrivals(facts, plan)) {
    EXPECT_EQ(arrival.at, milliseconds(0));
    bytes += arrival.bytes;
  }
  EXPECT_EQ(bytes, 256_KiB);
}

class ExchangeSimulationTest : public ::testing::Test {
 protected:
  ExchangeSimulationTest() : machine_(plain_machine(4)) {
    machine_.client.link_bandwidth_mb_per_s = 100;
    machine_.client.link_latency_us = 1000;
  }
  std::vector<Arrival> arrivals_of(Strategy strategy) const {
    const WriteFacts facts = facts_of(machine_, 4, 4'096'000);
    return simulate_arrivals(
        facts,
        plan_for(facts, {.strategy = strategy, .writers = 1, .tuning = {.unit_bytes = 4'096'000}}));
  }
  model::Machine machine_;
};

// A piece takes 40.96 ms on a link, 1 ms to arrive and 1.024 ms to be copied.
constexpr std::chrono::microseconds kLinkTime{40'960};
constexpr std::chrono::microseconds kLatencyAndCopy{1000 + 1024};

TEST_F(ExchangeSimulationTest, messages_fill_link_of_writer) {
  const auto arrivals = arrivals_of(Strategy::kReducedBlocking);
  ASSERT_EQ(arrivals.size(), 4U);
  EXPECT_EQ(arrivals[0].at, milliseconds(0)) << "bytes of the writer";
  EXPECT_EQ(arrivals[1].at, kLinkTime + kLatencyAndCopy);
  EXPECT_EQ(arrivals[3].at, 3 * kLinkTime + kLatencyAndCopy);
}

TEST_F(ExchangeSimulationTest, brigade_uses_each_link_of_chain) {
  const auto arrivals = arrivals_of(Strategy::kBrigade);
  ASSERT_EQ(arrivals.size(), 4U);
  EXPECT_EQ(arrivals[1].at, kLinkTime + kLatencyAndCopy);
  EXPECT_EQ(arrivals[3].at, 3 * (kLinkTime + kLatencyAndCopy))
      << "the last of the chain is copied three times";
}

TEST_F(ExchangeSimulationTest, gather_arrives_at_one_time) {
  for (const Arrival& arrival : arrivals_of(Strategy::kGather))
    EXPECT_EQ(arrival.at, 3 * kLinkTime + kLatencyAndCopy);
}

}  // namespace
}  // namespace forebay::write
