// SPDX-License-Identifier: Apache-2.0
// The formulas of a step compared with the storage simulation, and what follows from them on the
// shipped machines.
#include "write/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "write/simulated_step.hpp"

namespace forebay::write {
namespace {

constexpr std::array<const char*, 3> kMachines{"lustre-small", "gpfs-small", "pvfs-small"};

model::Machine machine_named(const std::string& name) {
  const std::array<std::filesystem::path, 1> directories{FOREBAY_SOURCE_DIR "/machines"};
  auto machine = model::load_machine(name, directories);
  EXPECT_TRUE(machine) << machine.error().message();
  return *machine;
}

/// `ranks` ranks on four nodes, or on fewer nodes if there are fewer ranks.
WriteFacts facts_on(const model::Machine& machine, std::uint32_t ranks, std::uint64_t each) {
  WriteFacts facts{.step_bytes = {each}, .machine = &machine};
  for (RankNumber rank = 0; rank < ranks; ++rank)
    facts.rank_layout.node_of_compute_rank.push_back(rank * std::min(4U, ranks) / ranks);
  return facts;
}

double simulated_us(const WriteFacts& facts, const WritePlan& plan) {
  return std::chrono::duration<double, std::micro>(simulate_write_time(facts, plan)).count();
}

TEST(StepCost, single_writer_matches_simulation) {
  for (const char* name : kMachines) {
    const model::Machine machine = machine_named(name);
    const WriteFacts facts = facts_on(machine, 1, 64_MiB);
    const auto plan = plan_write(facts);
    ASSERT_TRUE(plan);
    EXPECT_NEAR(step_cost(facts, *plan).storage_us / simulated_us(facts, *plan), 1, 0.1) << name;
  }
}

/// Sizes of 1 … 3 times `each`, many small ones and few large ones.
std::vector<std::uint64_t> exponential(std::uint32_t ranks, std::uint64_t each) {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const double quantile = (((rank * 7) % ranks) + 0.5) / ranks;
    sizes.push_back(static_cast<std::uint64_t>(-std::log(quantile) * static_cast<double>(each)));
  }
  return sizes;
}

/// Adds the complete plans for this number of writers and files.
void add_plans(const WriteFacts& facts, const WritePlan& shape, std::vector<WritePlan>& plans) {
  for (const Strategy strategy : {Strategy::kReducedBlocking, Strategy::kBaton}) {
    WritePlan requested = shape;
    requested.strategy = strategy;
    const auto plan = plan_write(facts, requested);
    ASSERT_TRUE(plan) << plan.error().message();
    plans.push_back(*plan);
  }
}

std::vector<WritePlan> plans_of(const WriteFacts& facts) {
  std::vector<WritePlan> plans;
  for (std::uint32_t writers = 1; writers <= facts.rank_layout.compute_rank_count(); writers *= 2) {
    for (std::uint32_t files = 1; files <= writers; files *= 2)
      add_plans(facts, {.writers = writers, .files = files}, plans);
  }
  return plans;
}

std::string text_of(const WritePlan& plan) {
  return std::string(name_of(plan.strategy)) + ", " + std::to_string(plan.writers) + " writers, " +
         std::to_string(plan.files) + " files";
}

class MachineCostTest : public ::testing::TestWithParam<std::tuple<const char*, std::uint64_t>> {
 protected:
  const model::Machine machine_ = machine_named(std::get<0>(GetParam()));
  const std::uint64_t each_ = std::get<1>(GetParam());
};

TEST_P(MachineCostTest, cost_is_near_simulation) {
  std::vector<double> errors;
  for (const bool even : {true, false}) {
    WriteFacts facts = facts_on(machine_, 16, each_);
    if (!even) facts.step_bytes = exponential(16, each_);
    for (const WritePlan& plan : plans_of(facts)) {
      const double ratio = step_cost(facts, plan).storage_us / simulated_us(facts, plan);
      errors.push_back(std::abs(std::log(ratio)));
      EXPECT_GT(ratio, 0.5) << text_of(plan);
      EXPECT_LT(ratio, 2) << text_of(plan);
    }
  }
  std::ranges::sort(errors);
  // 1.152 with growing locks and small steps, below 1.15 elsewhere.
  EXPECT_LT(std::exp(errors[errors.size() / 2]), 1.16) << "the median";
}

/// With syncs, which fewer files and writers on one node shorten.
double durable_us(const WriteFacts& facts, const WritePlan& plan) {
  return std::chrono::duration<double, std::micro>(simulate_step(facts, plan).durable).count();
}

/// Time of the chosen plan, relative to the best one.
double choice_over_best(const WriteFacts& facts) {
  double best_us = INFINITY;
  for (const WritePlan& plan : plans_of(facts))
    best_us = std::min(best_us, durable_us(facts, plan));
  const auto chosen = plan_write(facts);
  EXPECT_TRUE(chosen) << chosen.error().message();
  return durable_us(facts, *chosen) / best_us;
}

TEST_P(MachineCostTest, chosen_plan_is_near_best) {
  std::vector<double> over_best;
  for (const std::uint32_t ranks : {1U, 2U, 4U, 8U, 16U, 32U}) {
    WriteFacts facts = facts_on(machine_, ranks, each_);
    over_best.push_back(choice_over_best(facts));
    facts.step_bytes = exponential(ranks, each_);
    over_best.push_back(choice_over_best(facts));
  }
  std::ranges::sort(over_best);
  EXPECT_LT(over_best[over_best.size() / 2], 1.15) << "the median";
  EXPECT_LT(over_best.back(), 1.6) << "the worst";
}

TEST(StepCost, few_ranks_get_one_writer_per_server) {
  const model::Machine machine = machine_named("lustre-small");
  for (const std::uint32_t ranks : {2U, 4U, 8U}) {
    const WriteFacts facts = facts_on(machine, ranks, 64_MiB);
    const auto plan = plan_write(facts, plan_of(Strategy::kReducedBlocking));
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->writers, std::min(ranks, 4U)) << plan->reason;
    EXPECT_EQ(plan->files, plan->writers) << plan->reason;
  }
}

/// A commit takes 10 ms.
model::Machine with_syncs(model::Machine machine) {
  for (model::ServerGroup& group : machine.servers)
    group.sync_us = 10'000;
  machine.metadata.sync_us = 10'000;
  return machine;
}

TEST(StepCost, syncs_match_simulation) {
  for (const char* name : kMachines) {
    const model::Machine machine = with_syncs(machine_named(name));
    for (const std::uint64_t each : {64_KiB, 4_MiB}) {
      const WriteFacts facts = facts_on(machine, 16, each);
      for (const WritePlan& plan : plans_of(facts)) {
        const SimulatedStep step = simulate_step(facts, plan);
        const std::chrono::duration<double, std::micro> syncs = step.durable - step.written;
        const double ratio = step_cost(facts, plan).sync_us / syncs.count();
        // Short by the change of a lock. Long where syncs at a server share its first commit.
        EXPECT_GT(ratio, 0.95) << name << ", " << text_of(plan);
        EXPECT_LT(ratio, 1.5) << name << ", " << text_of(plan);
      }
    }
  }
}

TEST(StepCost, syncs_of_many_files_share_commits) {
  const model::Machine machine = with_syncs(machine_named("pvfs-small"));
  const WriteFacts facts = facts_on(machine, 16, 4_MiB);
  const auto sync_us = [&](std::uint32_t files) {
    return step_cost(facts, *plan_write(facts, {.strategy = Strategy::kReducedBlocking,
                                                .writers = files,
                                                .files = files}))
        .sync_us;
  };
  // Two writes of 4 KiB, then files, directory and slot; with several files, two commits of a
  // server.
  const double writes_us = 2 * (1000 + 4096 / 125.0);
  EXPECT_NEAR(sync_us(1), writes_us + 30'000, 1);
  EXPECT_NEAR(sync_us(2), writes_us + 40'000, 1);
  EXPECT_NEAR(sync_us(16), writes_us + 40'000, 1);
}

TEST(StepCost, many_files_cost_metadata_server_time) {
  model::Machine machine = machine_named("lustre-small");
  machine.metadata.create_us = 5000;
  const WriteFacts facts = facts_on(machine, 64, 1_MiB);
  const auto each = plan_write(facts, plan_of(Strategy::kFilePerProcess));
  EXPECT_NEAR(step_cost(facts, *each).metadata_us, 64 * 5000, 1);
  const auto chosen = plan_write(facts);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->strategy, Strategy::kReducedBlocking) << chosen->reason;
  EXPECT_LT(1.3 * simulated_us(facts, *chosen), simulated_us(facts, *each));
  WritePlan grouped = *each;
  grouped.tuning.steps_per_group = 8;
  EXPECT_NEAR(step_cost(facts, grouped).metadata_us, 8 * 5000, 1);
}

TEST(StepCost, exchange_counts_links_and_relayed_bytes) {
  model::Machine machine = machine_named("pvfs-small");
  machine.client.link_bandwidth_mb_per_s = 100;
  WriteFacts facts{.step_bytes = {10'000'000}, .machine = &machine};
  facts.rank_layout.node_of_compute_rank = {0, 1, 2, 3};
  const auto cost_of = [&](Strategy strategy) {
    return step_cost(facts, *plan_write(facts, {.strategy = strategy, .writers = 1}));
  };
  EXPECT_NEAR(cost_of(Strategy::kReducedBlocking).exchange_us, 300'000, 1)
      << "three ranks through the link of the writer";
  EXPECT_NEAR(cost_of(Strategy::kBrigade).exchange_us, 300'000, 1)
      << "the last link of the chain carries as much";
  EXPECT_GT(cost_of(Strategy::kGather).durable_us(), cost_of(Strategy::kBrigade).durable_us() * 1.3)
      << "nothing is written before all bytes have arrived";
  facts.rank_layout.node_of_compute_rank = {0, 0, 0, 0};
  EXPECT_EQ(cost_of(Strategy::kReducedBlocking).exchange_us, 0) << "memory is shared";
}

TEST(StepCost, file_lock_serializes_writers) {
  model::Machine machine = machine_named("pvfs-small");
  machine.locks = {.unit = model::LockUnit::kFile, .change_us = 2000};
  const WriteFacts facts = facts_on(machine, 4, 64_MiB);
  WritePlan requested{.tuning = {.unit_bytes = 256_KiB}};
  const auto chosen = plan_write(facts, requested);
  requested.writers = 4;
  requested.files = 1;
  const auto one = plan_write(facts, requested);
  EXPECT_GT(step_cost(facts, *one).storage_us, 1.05 * step_cost(facts, *chosen).storage_us);
  EXPECT_GT(simulated_us(facts, *one), 1.05 * simulated_us(facts, *chosen));
  EXPECT_NEAR(step_cost(facts, *one).storage_us / simulated_us(facts, *one), 1, 0.3);
  EXPECT_EQ(chosen->files, chosen->writers) << chosen->reason;
}

TEST(StepCost, growing_locks_order_files_as_simulation) {
  const model::Machine machine = machine_named("lustre-small");
  const WriteFacts facts = facts_on(machine, 16, 256_KiB);
  const auto time_of = [&](std::uint32_t files) {
    const auto plan =
        plan_write(facts, {.strategy = Strategy::kReducedBlocking, .writers = 4, .files = files});
    EXPECT_TRUE(plan);
    EXPECT_NEAR(step_cost(facts, *plan).storage_us / simulated_us(facts, *plan), 1, 0.5) << files;
    return std::pair{step_cost(facts, *plan).storage_us, simulated_us(facts, *plan)};
  };
  const auto [one_cost_us, one_played_us] = time_of(1);
  const auto [each_cost_us, each_played_us] = time_of(4);
  // With all requests in flight, a lock changes once, and a shared file is on all servers evenly.
  EXPECT_EQ(one_cost_us < each_cost_us, one_played_us < each_played_us);
}

INSTANTIATE_TEST_SUITE_P(StepCost,
                         MachineCostTest,
                         ::testing::Combine(::testing::ValuesIn(kMachines),
                                            ::testing::Values(256_KiB, 4_MiB, 64_MiB)));

}  // namespace
}  // namespace forebay::write
