// SPDX-License-Identifier: Apache-2.0
// The sweep: which cells there are, and what must be true of them on the machines that are shipped.
#include "tools/study/checkpoint.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "tools/study/document.hpp"

namespace forebay::study {
namespace {

model::Machine shipped(const std::string& name) {
  auto machine = model::load_machine(name, model::machine_folders({}));
  EXPECT_TRUE(machine) << machine.error().message();
  return *machine;
}

Sweep swept(const Checkpoint& checkpoint, const model::Machine& machine) {
  auto result = sweep(checkpoint, machine, [](std::size_t) {});
  EXPECT_TRUE(result) << result.error().message();
  return *result;
}

Cell cell_of(const Sweep& sweep, std::uint32_t writers, std::uint32_t files) {
  for (const Cell& cell : sweep.cells) {
    if (cell.plan.writers == writers && cell.plan.files == files) return cell;
  }
  ADD_FAILURE() << "no cell of " << writers << " writers and " << files << " files";
  return {};
}

TEST(Sweep, has_all_powers_of_two_and_the_ranks) {
  const Checkpoint checkpoint{.ranks = 6,
                              .bytes_per_rank = 128_KiB,
                              .strategies = {Strategy::kSerial, Strategy::kReducedBlocking}};
  const auto plans = plans_of(checkpoint, shipped("pvfs-small"));
  ASSERT_TRUE(plans) << plans.error().message();
  std::vector<std::tuple<Strategy, std::uint32_t, std::uint32_t>> found;
  for (const WritePlan& plan : *plans)
    found.emplace_back(plan.strategy, plan.writers, plan.files);
  const auto rb = Strategy::kReducedBlocking;
  const std::vector<std::tuple<Strategy, std::uint32_t, std::uint32_t>> expected{
      {Strategy::kSerial, 1, 1},
      {rb, 1, 1},
      {rb, 2, 1},
      {rb, 2, 2},
      {rb, 4, 1},
      {rb, 4, 2},
      {rb, 4, 4},
      {rb, 6, 1},
      {rb, 6, 2},
      {rb, 6, 4},
      {rb, 6, 6}};
  EXPECT_EQ(found, expected);
}

TEST(Sweep, tells_of_each_plan_and_gives_the_same_again) {
  const Checkpoint checkpoint{
      .ranks = 8, .bytes_per_rank = 64_KiB, .strategies = {Strategy::kBaton}};
  const model::Machine machine = shipped("lustre-small");
  std::vector<std::size_t> told;
  const auto first = sweep(checkpoint, machine, [&](std::size_t done) { told.push_back(done); });
  ASSERT_TRUE(first);
  EXPECT_EQ(told.size(), first->cells.size());
  EXPECT_EQ(told.back(), first->cells.size());
  const Sweep again = swept(checkpoint, machine);
  for (std::size_t i = 0; i < again.cells.size(); ++i)
    EXPECT_EQ(again.cells[i].step.durable, first->cells[i].step.durable);
}

TEST(Sweep, plays_a_step_in_the_order_in_which_it_happens) {
  const Checkpoint checkpoint{
      .ranks = 16,
      .bytes_per_rank = 1_MiB,
      .sizes = bench::checkpoint::Sizes::kExponential,
      .strategies = {Strategy::kCollective, Strategy::kBrigade, Strategy::kGather}};
  for (const char* name : {"lustre-small", "gpfs-small", "pvfs-small"}) {
    const Sweep sweep = swept(checkpoint, shipped(name));
    for (const Cell& cell : sweep.cells) {
      EXPECT_GT(cell.step.named.count(), 0) << name;
      EXPECT_LE(cell.step.handed, cell.step.written) << name;
      EXPECT_LT(cell.step.written, cell.step.durable) << name;
    }
  }
}

TEST(Sweep, shows_what_sharing_costs_where_locks_grow_and_few_bytes_are_under_way) {
  const Checkpoint checkpoint{
      .ranks = 64, .bytes_per_rank = 224_KiB, .strategies = {Strategy::kReducedBlocking}};
  const Sweep lustre = swept(checkpoint, shipped("lustre-small"));
  const Sweep pvfs = swept(checkpoint, shipped("pvfs-small"));
  const auto gain = [](const Sweep& sweep) {
    return static_cast<double>(cell_of(sweep, 4, 1).step.durable.count()) /
           static_cast<double>(cell_of(sweep, 4, 4).step.durable.count());
  };
  EXPECT_GT(gain(lustre), 1.5);
  EXPECT_LT(gain(pvfs), 1.1) << "nobody has a lock there";
  EXPECT_GT(cell_of(lustre, 2, 1).step.durable, cell_of(lustre, 1, 1).step.durable)
      << "two writers of one file are slower than one";
}

TEST(Sweep, aligns_one_shared_file_to_whole_locks) {
  const Checkpoint checkpoint{
      .ranks = 16, .bytes_per_rank = 64_KiB, .strategies = {Strategy::kSerial}};
  const Cell stripes = swept(checkpoint, shipped("lustre-small")).shared;
  EXPECT_EQ(stripes.plan.files, 1U);
  EXPECT_EQ(stripes.plan.writers, 16U);
  EXPECT_EQ(stripes.plan.alignment_bytes, 1_MiB);
  EXPECT_EQ(swept(checkpoint, shipped("gpfs-small")).shared.plan.alignment_bytes, 4_MiB);
}

TEST(Document, has_machines_and_cells) {
  const Question question{.checkpoint = {.ranks = 4,
                                         .bytes_per_rank = 64_KiB,
                                         .nodes = 2,
                                         .strategies = {Strategy::kFilePerProcess}},
                          .machines = {"nfs", "pvfs-small"}};
  const auto document = describe(question, model::machine_folders({}));
  ASSERT_TRUE(document) << document.error().message();
  EXPECT_EQ(document->at("step_bytes"), 256_KiB);
  ASSERT_EQ(document->at("machines").size(), 2U);
  const auto& machine = document->at("machines")[1];
  EXPECT_EQ(machine.at("name"), "pvfs-small");
  EXPECT_EQ(machine.at("nodes"), 2);
  ASSERT_EQ(machine.at("cells").size(), 1U);
  const auto& cell = machine.at("cells")[0];
  EXPECT_EQ(cell.at("strategy"), "file-per-process");
  EXPECT_NEAR(cell.at("mb_per_s").get<double>() * cell.at("durable_s").get<double>(), 0.262144,
              1e-9);
}

TEST(Document, of_a_machine_that_is_not_there_is_an_error) {
  const Question question{
      .checkpoint = {.bytes_per_rank = 64_KiB, .strategies = {Strategy::kSerial}},
      .machines = {"no-such-machine"}};
  EXPECT_FALSE(describe(question, model::machine_folders({})));
}

}  // namespace
}  // namespace forebay::study
