// SPDX-License-Identifier: Apache-2.0
// Steps of a kernel with every number of aggregators: what must hold for any machine.
#include "tools/study/steps.hpp"

#include <gtest/gtest.h>

#include "model/machine.hpp"

namespace forebay::study {
namespace {

using nlohmann::json;

class StepsTest : public ::testing::Test {
 protected:
  json simulate(const char* family, std::vector<double> parameters, CreateMode mode) {
    const json size = {{"family", family}, {"drawn", "call"}, {"parameters", parameters}};
    const json constant = {{"family", "constant"}, {"drawn", "step"}, {"parameters", {1.0}}};
    const json operation = {{"name", "block"},   {"do", "write"},      {"when", "each"},
                            {"every", 1},        {"ranks", {0, 8, 1}}, {"unit_bytes", 8},
                            {"calls", constant}, {"size", size}};
    const json kernel = {{"name", "test"},
                         {"writers", 8},
                         {"steps", 3},
                         {"seed", 1},
                         {"compute_s", constant},
                         {"names", json::array()},
                         {"operations", json::array({operation})}};
    StepsRequest request{.kernel = kernel, .machine = "lustre-small", .targets = {1, 4}};
    request.create_mode = mode;
    const auto found = describe_steps(request, model::machine_directories({}));
    EXPECT_TRUE(found) << found.error().message();
    return found ? *found : json();
  }
};

TEST_F(StepsTest, every_aggregation_of_both_strategies_is_simulated) {
  const json found = simulate("constant", {1e6}, CreateMode::kInStep);
  EXPECT_EQ(found["cells"].size(), 2U * 4 * 2);  // 1, 2, 4, 8 aggregators; 1, 4 targets
  EXPECT_EQ(found["bytes"], json(std::vector(3, std::vector<std::uint64_t>(8, 1'000'000))));
  for (const json& cell : found["cells"]) {
    EXPECT_EQ(cell["durable_s"].size(), 3U);
    EXPECT_GT(cell["opened_s"][0].get<double>(), 0);
    EXPECT_GE(cell["durable_s"][0].get<double>(), cell["opened_s"][0].get<double>());
  }
}

TEST_F(StepsTest, files_created_ahead_open_at_once_and_save_time) {
  const json in_step = simulate("exponential", {1e6, 0}, CreateMode::kInStep);
  const json ahead = simulate("exponential", {1e6, 0}, CreateMode::kAhead);
  for (std::size_t i = 0; i < ahead["cells"].size(); ++i) {
    const json& cell = ahead["cells"][i];
    EXPECT_EQ(cell["opened_s"][0].get<double>(), 0);
    EXPECT_LE(cell["durable_s"][0].get<double>(),
              in_step["cells"][i]["durable_s"][0].get<double>());
  }
}

TEST_F(StepsTest, memory_of_peers_follows_their_law) {
  const json found = simulate("constant", {1e6}, CreateMode::kInStep);
  for (const json& cell : found["cells"]) {
    const auto aggregators = cell["aggregators"].get<std::uint64_t>();
    const std::uint64_t expected =
        cell["strategy"] == "gather" ? 8'000'000 / aggregators : 2'000'000;
    EXPECT_EQ(cell["peer_memory_bytes"].get<std::uint64_t>(), expected);
  }
}

TEST_F(StepsTest, invalid_kernel_fails) {
  const StepsRequest request{.kernel = json::object(), .machine = "lustre-small", .targets = {1}};
  EXPECT_FALSE(describe_steps(request, model::machine_directories({})));
}

}  // namespace
}  // namespace forebay::study
