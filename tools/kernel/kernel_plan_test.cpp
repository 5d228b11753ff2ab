// SPDX-License-Identifier: Apache-2.0
// The calls of ranks: from distributions, from signatures, and shares of readers.
#include "tools/kernel/kernel_plan.hpp"

#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::kernel {
namespace {

using nlohmann::json;

json constant(double value, const char* drawn = "step") {
  return {{"family", "constant"}, {"drawn", drawn}, {"parameters", {value}}};
}

json operation(const char* name, const json& changes) {
  json made = {{"name", name},       {"do", "write"},   {"when", "each"},      {"every", 1},
               {"ranks", {0, 4, 1}}, {"unit_bytes", 8}, {"calls", constant(1)}};
  made.update(changes);
  return made;
}

json document(const json& operations) {
  return {{"name", "test"},
          {"writers", 4},
          {"steps", 6},
          {"seed", 3},
          {"compute_s", constant(-1)},
          {"names", json::array()},
          {"operations", operations}};
}

struct Calls {
  ~Calls() { fk_free_calls(&all); }
  fk_calls all{};
};

std::vector<std::uint64_t> offsets_of(const fk_calls& calls) {
  std::vector<std::uint64_t> offsets;
  for (std::size_t i = 0; i < calls.count; ++i)
    offsets.push_back(calls.calls[i].offset);
  return offsets;
}

TEST(KernelPlan, sizes_are_rounded_to_units_and_never_empty) {
  const auto plan = KernelPlan::parse(
      document({operation("a", {{"size", constant(-5, "call")}}),
                operation("b", {{"size", constant(20, "call")}, {"calls", constant(3)}})}));
  ASSERT_TRUE(plan);
  Calls calls;
  ASSERT_EQ(fk_make_calls(&plan->kernel(), 0, 0, 0, &calls.all), 0);
  EXPECT_EQ(calls.all.bytes, 8U);
  ASSERT_EQ(fk_make_calls(&plan->kernel(), 1, 0, 0, &calls.all), 0);
  EXPECT_EQ(offsets_of(calls.all), (std::vector<std::uint64_t>{0, 16, 32}));
  EXPECT_EQ(fk_compute_seconds(&plan->kernel(), 0, 0), 0);
}

TEST(KernelPlan, ranks_and_steps_are_those_of_the_operation) {
  const auto plan = KernelPlan::parse(
      document({operation("a", {{"size", constant(8)}, {"ranks", {1, 4, 2}}, {"every", 3}}),
                operation("b", {{"size", constant(8)}, {"when", "before"}}),
                operation("c", {{"size", constant(8)}, {"when", "last"}})}));
  ASSERT_TRUE(plan);
  const fk_kernel& kernel = plan->kernel();
  std::vector<std::vector<std::int64_t>> due(3);
  for (std::size_t i = 0; i < due.size(); ++i)
    for (std::int64_t step = -1; step < 6; ++step)
      if (fk_is_due(&kernel, &kernel.operations[i], step) != 0) due[i].push_back(step);
  EXPECT_EQ(due[0], (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(due[1], (std::vector<std::int64_t>{-1}));
  EXPECT_EQ(due[2], (std::vector<std::int64_t>{5}));
  std::vector<std::uint64_t> starts(5);
  ASSERT_EQ(fk_layout(&kernel, 0, 2, starts.data()), 0);
  EXPECT_EQ(starts, (std::vector<std::uint64_t>{0, 0, 8, 8, 16}));
}

TEST(KernelPlan, offsets_are_those_of_the_signature_with_names) {
  json made = document(json::array(
      {operation("a", {{"offsets", "write {2 x {3 x (1000 column + 100 i + 10 j, 2 + i)}}"}})}));
  made["names"] = json::array({json{{"name", "column"}, {"expression", "rank % 2"}}});
  const auto plan = KernelPlan::parse(made);
  ASSERT_TRUE(plan) << plan.error().message();
  Calls calls;
  ASSERT_EQ(fk_make_calls(&plan->kernel(), 0, 3, 0, &calls.all), 0);
  EXPECT_EQ(offsets_of(calls.all),
            (std::vector<std::uint64_t>{1000, 1010, 1020, 1100, 1110, 1120}));
  EXPECT_EQ(calls.all.bytes, 3U * 2 + 3U * 3);
  EXPECT_EQ(calls.all.end, 1123U);
}

TEST(KernelPlan, wrong_signatures_and_expressions_are_refused_by_name) {
  const auto signature =
      KernelPlan::parse(document(json::array({operation("a", {{"offsets", "write {2 y"}})})));
  ASSERT_FALSE(signature);
  EXPECT_NE(signature.error().message().find("operation a"), std::string::npos);
  json made = document(json::array({operation("a", {{"size", constant(8)}})}));
  made["names"] = json::array({json{{"name", "v"}, {"expression", "rank +"}}});
  const auto expression = KernelPlan::parse(made);
  ASSERT_FALSE(expression);
  EXPECT_NE(expression.error().message().find("names.v"), std::string::npos);
  EXPECT_FALSE(KernelPlan::parse(json::array()));
}

TEST(KernelPlan, negative_offsets_and_huge_calls_are_refused) {
  const auto plan = KernelPlan::parse(
      document({operation("a", {{"offsets", "write (8 - 8 rank, 8)"}}),
                operation("b", {{"size", constant(1e15)}}),
                operation("c", {{"size", constant(8)}, {"calls", constant(1e7)}})}));
  ASSERT_TRUE(plan);
  Calls calls;
  EXPECT_EQ(fk_make_calls(&plan->kernel(), 0, 1, 0, &calls.all), 0);
  EXPECT_EQ(fk_make_calls(&plan->kernel(), 0, 2, 0, &calls.all), -1);
  EXPECT_EQ(fk_make_calls(&plan->kernel(), 1, 0, 0, &calls.all), -1);
  EXPECT_EQ(fk_make_calls(&plan->kernel(), 2, 0, 0, &calls.all), -1);
}

TEST(KernelPlan, readers_share_an_array_without_gaps) {
  for (const std::uint64_t bytes : {0ULL, 7ULL, 8ULL, 100ULL, 4096ULL, 12'345ULL}) {
    const auto plan = KernelPlan::parse(document(
        {operation("a", {{"size", constant(8)}}), operation("b", {{"do", "read"},
                                                                  {"from", 0},
                                                                  {"size", constant(1000, "call")},
                                                                  {"ranks", {1, 4, 1}}})}));
    ASSERT_TRUE(plan);
    std::uint64_t end = 0;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      Calls calls;
      ASSERT_EQ(fk_make_read_calls(&plan->kernel(), 1, rank, 0, bytes, &calls.all), 0);
      EXPECT_TRUE(rank > 0 || calls.all.count == 0);
      for (std::size_t i = 0; i < calls.all.count; ++i) {
        EXPECT_EQ(calls.all.calls[i].offset, end);
        end += calls.all.calls[i].bytes;
      }
    }
    EXPECT_EQ(end, bytes);
  }
}

TEST(KernelPlan, reads_find_the_newest_step_of_their_data) {
  const auto plan =
      KernelPlan::parse(document({operation("before", {{"do", "read"}, {"from", 1}}),
                                  operation("a", {{"size", constant(8)}, {"every", 2}}),
                                  operation("after", {{"do", "read"}, {"from", 1}})}));
  ASSERT_TRUE(plan);
  EXPECT_EQ(fk_step_of_data(&plan->kernel(), 0, 1), -2);
  EXPECT_EQ(fk_step_of_data(&plan->kernel(), 0, 2), 1);
  EXPECT_EQ(fk_step_of_data(&plan->kernel(), 2, 1), 1);
  EXPECT_EQ(fk_step_of_data(&plan->kernel(), 2, 2), 1);
}

}  // namespace
}  // namespace forebay::kernel
