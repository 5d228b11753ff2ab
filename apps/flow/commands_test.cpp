// SPDX-License-Identifier: Apache-2.0
#include "flow/commands.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "command/testing.hpp"
#include "flow/thread_solver_comm.hpp"

namespace forebay::flow {
namespace {

using command::Json;
using command::testing::TempDirectory;

std::unique_ptr<Runtime> make_local_runtime(const RuntimeOptions& options) {
  return std::make_unique<Runtime>(options);
}

command::CommandResult run_args(const std::vector<std::string>& args) {
  const std::vector<std::string_view> views(args.begin(), args.end());
  return run_command(views, {RankLauncher::Kind::kThreads, run_thread_ranks, make_local_runtime});
}

Json run_and_parse(const std::vector<std::string>& args) {
  const command::CommandResult outcome = run_args(args);
  EXPECT_EQ(outcome.exit_code, command::kExitSuccess) << outcome.errors;
  return Json::parse(outcome.output.empty() ? "{}" : outcome.output);
}

TEST(Commands, run_with_other_ranks_computes_the_same_bits) {
  const TempDirectory directory;
  const std::string mesh = directory.file("mesh");
  const Json made = run_and_parse({"generate", mesh, "--cells", "6", "--parts", "12", "--ranks",
                                   "2", "--imbalance", "0.3", "--seed", "5"});
  EXPECT_EQ(made["mesh"]["elements"], 6 * 6 * 6 * 18);
  EXPECT_EQ(made["parts"], 12);
  EXPECT_NEAR(made["part_elements"]["max_over_mean"].get<double>(), 1.3, 0.02);
  EXPECT_GE(made["part_neighbors"]["max"], 5);
  const Json one = run_and_parse({"run", mesh, "--steps", "3", "--problem", "advection"});
  const Json four =
      run_and_parse({"run", mesh, "--steps", "3", "--problem", "advection", "--ranks", "4",
                     "--mapping", "random:2", "--checkpoints", directory.file("saved")});
  EXPECT_EQ(one["fingerprint"], four["fingerprint"]);
  EXPECT_EQ(four["ranks"], 4);
  EXPECT_EQ(four["checkpoints_written"], 1);
  EXPECT_LE(four["relative_residual_max"].get<double>(), 1e-8);
  for (const char* const phase : {"assembly", "product", "exchange", "sums", "solve"})
    EXPECT_GT(four["times_s"][phase]["mean"].get<double>(), 0) << phase;
  EXPECT_GT(four["times_s"]["checkpoint"]["max"].get<double>(), 0);
}

TEST(Commands, generated_mesh_does_not_depend_on_ranks) {
  const TempDirectory directory;
  for (const char* const ranks : {"1", "3"}) {
    run_and_parse({"generate", directory.file(ranks), "--cells", "4", "--parts", "5", "--ranks",
                   ranks, "--store", "folder"});
  }
  for (int part = 0; part < 5; ++part) {
    const std::string name = "/step-000000/part-00000" + std::to_string(part);
    EXPECT_EQ(command::testing::read_file(directory.file("1" + name)),
              command::testing::read_file(directory.file("3" + name)));
  }
}

TEST(Commands, dataset_checkpoints_report_their_cost) {
  const TempDirectory directory;
  const std::string mesh = directory.file("mesh.fb");
  run_and_parse({"generate", mesh, "--cells", "4", "--parts", "5"});
  std::vector<std::string> args{"run",    mesh,     "--steps", "4", "--averages",   "3",
                                "--plan", "serial", "--every", "2", "--checkpoints"};
  args.push_back(directory.file("saved"));
  const Json run = run_and_parse(args);
  const Json& report = run["checkpoint_report"];
  EXPECT_EQ(report["store"], "dataset, serial: 1 rank writing, 1 file a step");
  ASSERT_EQ(report["steps"].size(), 2U);
  std::uint64_t bytes = 0;
  for (const Json& step : report["steps"]) {
    bytes += step["bytes"].get<std::uint64_t>();
    EXPECT_GT(step["durable_s"], 0);
    EXPECT_LE(step["perceived_s"], step["durable_s"]);
    EXPECT_LE(step["begun_s"], report["steps_s"]);
  }
  EXPECT_EQ(report["bytes"], bytes);
  EXPECT_GT(report["overhead"], 0);
  EXPECT_LT(report["overhead"], 1);
  EXPECT_NEAR(report["durable_mb_s"],
              static_cast<double>(bytes) / 1e6 / report["durable_s"].get<double>(), 1e-3);
  EXPECT_NE(run["fingerprint"], run_and_parse({"run", mesh, "--steps", "4"})["fingerprint"]);
  EXPECT_TRUE(run_and_parse({"run", mesh, "--steps", "0"})["checkpoint_report"].is_null());
}

TEST(Commands, resume_step_selects_the_checkpoint) {
  const TempDirectory directory;
  const std::string mesh = directory.file("mesh.fb");
  run_and_parse({"generate", mesh, "--cells", "4", "--parts", "5"});
  std::vector<std::string> args{"run",     mesh, "--checkpoints", directory.file("saved"),
                                "--every", "2",  "--steps",       "6"};
  EXPECT_EQ(run_and_parse(args)["checkpoints_written"], 3);
  args.back() = "8";
  args.insert(args.end(), {"--resume-step", "2"});
  const Json run = run_and_parse(args);
  EXPECT_EQ(run["first_step"], 2);
  EXPECT_EQ(run["checkpoints_written"], 1);
  EXPECT_EQ(run["fingerprint"], run_and_parse({"run", mesh, "--steps", "8"})["fingerprint"]);
}

TEST(Commands, invalid_arguments_are_usage_errors) {
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"dance"},
      {"generate"},
      {"generate", "x", "--cells", "0"},
      {"generate", "x", "--shape", "ball"},
      {"generate", "x", "--grading", "1"},
      {"run", "x", "--problem", "none"},
      {"run", "x", "--step-length", "0"},
      {"run", "x", "--tolerance", "abc"},
      {"run", "x", "--ranks", "0"},
      {"run", "x", "--resume"},
      {"run", "x", "--resume-step", "2"},
      {"run", "x", "--resume-step", "two", "--checkpoints", "y"},
      {"run", "x", "--every", "2"},
      {"run", "x", "--plan", "serial"},
      {"run", "x", "--keep", "2"},
      {"run", "x", "--checkpoints", "y", "--store", "drawer"},
      {"generate", "x", "--keep", "2"},
      {"run", "x", "--unknown"},
  };
  for (const auto& args : wrong) {
    const command::CommandResult outcome = run_args(args);
    EXPECT_EQ(outcome.exit_code, command::kExitUsage) << outcome.errors;
    EXPECT_NE(outcome.errors.find("\"usage\""), std::string::npos);
    EXPECT_TRUE(outcome.output.empty());
  }
}

TEST(Commands, failure_prints_one_error_line) {
  const TempDirectory directory;
  const command::CommandResult outcome = run_args({"run", directory.file("none"), "--ranks", "3"});
  EXPECT_EQ(outcome.exit_code, command::kExitFailure);
  EXPECT_EQ(Json::parse(outcome.errors)["error"]["class"], "not-found");
}

TEST(Commands, ranks_option_with_existing_ranks_is_a_usage_error) {
  const std::vector<std::string_view> args{"run", "x", "--ranks", "2"};
  const RankLauncher ranks{RankLauncher::Kind::kExisting,
                           [](std::uint32_t, const std::function<void(SolverComm&)>& work) {
                             run_thread_ranks(1, work);
                           },
                           make_local_runtime};
  EXPECT_EQ(run_command(args, ranks).exit_code, command::kExitUsage);
}

}  // namespace
}  // namespace forebay::flow
