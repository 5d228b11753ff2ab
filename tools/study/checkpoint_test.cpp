// SPDX-License-Identifier: Apache-2.0
// The sweep: its cells, and properties that hold on the shipped machines.
#include "tools/study/checkpoint.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "tools/study/document.hpp"

namespace forebay::study {
namespace {

model::Machine load_shipped_machine(const std::string& name) {
  auto machine = model::load_machine(name, model::machine_directories({}));
  EXPECT_TRUE(machine) << machine.error().message();
  return *machine;
}

Sweep run_sweep(const Checkpoint& checkpoint, const model::Machine& machine) {
  auto result = sweep(checkpoint, machine, [](std::size_t) { return true; });
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
  const auto plans = plans_of(checkpoint, load_shipped_machine("pvfs-small"));
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

TEST(Sweep, reports_each_plan_and_is_reproducible) {
  const Checkpoint checkpoint{
      .ranks = 8, .bytes_per_rank = 64_KiB, .strategies = {Strategy::kBaton}};
  const model::Machine machine = load_shipped_machine("lustre-small");
  std::vector<std::size_t> progress;
  const auto first = sweep(checkpoint, machine, [&](std::size_t done) {
    progress.push_back(done);
    return true;
  });
  ASSERT_TRUE(first);
  EXPECT_EQ(progress.size(), first->cells.size());
  EXPECT_EQ(progress.back(), first->cells.size());
  const Sweep again = run_sweep(checkpoint, machine);
  for (std::size_t i = 0; i < again.cells.size(); ++i)
    EXPECT_EQ(again.cells[i].step.durable, first->cells[i].step.durable);
}

TEST(Sweep, events_of_a_step_are_in_order) {
  const Checkpoint checkpoint{
      .ranks = 16,
      .bytes_per_rank = 1_MiB,
      .sizes = SizeDistribution::kExponential,
      .strategies = {Strategy::kCollective, Strategy::kBrigade, Strategy::kGather}};
  for (const char* name : {"lustre-small", "gpfs-small", "pvfs-small"}) {
    const Sweep sweep = run_sweep(checkpoint, load_shipped_machine(name));
    for (const Cell& cell : sweep.cells) {
      EXPECT_GT(cell.step.files_opened.count(), 0) << name;
      EXPECT_LE(cell.step.exchanged, cell.step.written) << name;
      EXPECT_LT(cell.step.written, cell.step.durable) << name;
    }
  }
}

TEST(Sweep, sharing_costs_where_locks_grow_and_few_bytes_are_in_flight) {
  const Checkpoint checkpoint{
      .ranks = 64, .bytes_per_rank = 224_KiB, .strategies = {Strategy::kReducedBlocking}};
  const Sweep lustre = run_sweep(checkpoint, load_shipped_machine("lustre-small"));
  const Sweep pvfs = run_sweep(checkpoint, load_shipped_machine("pvfs-small"));
  const auto gain = [](const Sweep& sweep) {
    return static_cast<double>(cell_of(sweep, 4, 1).step.durable.count()) /
           static_cast<double>(cell_of(sweep, 4, 4).step.durable.count());
  };
  EXPECT_GT(gain(lustre), 1.1);
  EXPECT_LT(gain(pvfs), 1.1) << "there are no locks";
  EXPECT_GT(cell_of(lustre, 2, 1).step.durable, cell_of(lustre, 1, 1).step.durable)
      << "two writers of one file are slower than one";
}

TEST(Sweep, aligns_one_shared_file_to_whole_locks) {
  const Checkpoint checkpoint{
      .ranks = 16, .bytes_per_rank = 64_KiB, .strategies = {Strategy::kSerial}};
  const Cell stripes = run_sweep(checkpoint, load_shipped_machine("lustre-small")).shared;
  EXPECT_EQ(stripes.plan.files, 1U);
  EXPECT_EQ(stripes.plan.writers, 16U);
  EXPECT_EQ(stripes.plan.tuning.alignment_bytes, 1_MiB);
  EXPECT_EQ(
      run_sweep(checkpoint, load_shipped_machine("gpfs-small")).shared.plan.tuning.alignment_bytes,
      4_MiB);
}

TEST(Document, has_machines_and_cells) {
  const StudyRequest request{.checkpoint = {.ranks = 4,
                                            .bytes_per_rank = 64_KiB,
                                            .nodes = 2,
                                            .strategies = {Strategy::kFilePerProcess}},
                             .machines = {"nfs", "pvfs-small"}};
  const auto document = describe(request, model::machine_directories({}));
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

TEST(Document, checkpoint_beyond_its_limits_fails) {
  for (const Checkpoint& checkpoint :
       {Checkpoint{.ranks = 0, .bytes_per_rank = 8}, Checkpoint{.ranks = 1025, .bytes_per_rank = 8},
        Checkpoint{.ranks = 1, .bytes_per_rank = 12},
        Checkpoint{.ranks = 1, .bytes_per_rank = 2_GiB},
        Checkpoint{.bytes_per_rank = 8, .nodes = 1025}}) {
    const auto document = describe({.checkpoint = checkpoint, .machines = {"nfs"}}, {});
    ASSERT_FALSE(document);
    EXPECT_EQ(document.error().kind(), ErrorClass::kInvalidArgument);
  }
}

TEST(Document, progress_that_returns_false_ends_with_cancelled) {
  const auto document = describe({.checkpoint = {.ranks = 4,
                                                 .bytes_per_rank = 64_KiB,
                                                 .strategies = {Strategy::kFilePerProcess}},
                                  .machines = {"nfs"},
                                  .progress = [](const auto&) { return false; }},
                                 model::machine_directories({}));
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind(), ErrorClass::kCancelled);
}

TEST(Document, missing_machine_fails) {
  const StudyRequest request{
      .checkpoint = {.bytes_per_rank = 64_KiB, .strategies = {Strategy::kSerial}},
      .machines = {"no-such-machine"}};
  EXPECT_FALSE(describe(request, model::machine_directories({})));
}

}  // namespace
}  // namespace forebay::study
