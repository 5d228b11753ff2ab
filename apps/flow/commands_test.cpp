// SPDX-License-Identifier: Apache-2.0
#include "flow/commands.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "command/testing.hpp"
#include "flow/thread_team.hpp"

namespace forebay::flow {
namespace {

using command::Json;
using command::testing::TempFolder;

std::unique_ptr<Runtime> make_alone(const RuntimeOptions& options) {
  return std::make_unique<Runtime>(options);
}

command::Outcome run_words(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return run_command(views, {Ranks::Kind::kThreads, run_as_threads, make_alone});
}

Json answer(const std::vector<std::string>& words) {
  const command::Outcome outcome = run_words(words);
  EXPECT_EQ(outcome.exit_code, command::kExitDone) << outcome.errors;
  return Json::parse(outcome.output.empty() ? "{}" : outcome.output);
}

TEST(Commands, a_mesh_is_made_and_the_same_bits_are_computed_by_other_ranks) {
  const TempFolder folder;
  const std::string mesh = folder.file("mesh");
  const Json made = answer({"generate", mesh, "--cells", "6", "--parts", "12", "--ranks", "2",
                            "--imbalance", "0.3", "--seed", "5"});
  EXPECT_EQ(made["mesh"]["elements"], 6 * 6 * 6 * 18);
  EXPECT_EQ(made["parts"], 12);
  EXPECT_NEAR(made["part_elements"]["max_over_mean"].get<double>(), 1.3, 0.02);
  EXPECT_GE(made["part_neighbours"]["max"], 5);
  const Json one = answer({"run", mesh, "--steps", "3", "--problem", "advection"});
  const Json four = answer({"run", mesh, "--steps", "3", "--problem", "advection", "--ranks", "4",
                            "--mapping", "random:2", "--checkpoints", folder.file("saved")});
  EXPECT_EQ(one["fingerprint"], four["fingerprint"]);
  EXPECT_EQ(four["ranks"], 4);
  EXPECT_EQ(four["checkpoints_written"], 1);
  EXPECT_LE(four["relative_residual_max"].get<double>(), 1e-8);
  for (const char* const phase : {"assembly", "product", "exchange", "sums", "solve"})
    EXPECT_GT(four["times_s"][phase]["mean"].get<double>(), 0) << phase;
  EXPECT_GT(four["times_s"]["checkpoint"]["max"].get<double>(), 0);
}

TEST(Commands, a_generated_mesh_does_not_depend_on_who_makes_it) {
  const TempFolder folder;
  for (const char* const ranks : {"1", "3"}) {
    answer({"generate", folder.file(ranks), "--cells", "4", "--parts", "5", "--ranks", ranks,
            "--store", "folder"});
  }
  for (int part = 0; part < 5; ++part) {
    const std::string name = "/step-000000/part-00000" + std::to_string(part);
    EXPECT_EQ(command::testing::contents_of(folder.file("1" + name)),
              command::testing::contents_of(folder.file("3" + name)));
  }
}

TEST(Commands, checkpoints_of_a_dataset_tell_what_they_cost) {
  const TempFolder folder;
  const std::string mesh = folder.file("mesh.fb");
  answer({"generate", mesh, "--cells", "4", "--parts", "5"});
  std::vector<std::string> words{"run",    mesh,     "--steps", "4", "--averages",   "3",
                                 "--plan", "serial", "--every", "2", "--checkpoints"};
  words.push_back(folder.file("saved"));
  const Json run = answer(words);
  const Json& kept = run["kept"];
  EXPECT_EQ(kept["store"], "dataset, serial: 1 rank writing, 1 file a step");
  ASSERT_EQ(kept["steps"].size(), 2U);
  std::uint64_t bytes = 0;
  for (const Json& step : kept["steps"]) {
    bytes += step["bytes"].get<std::uint64_t>();
    EXPECT_GT(step["durable_s"], 0);
    EXPECT_LE(step["perceived_s"], step["durable_s"]);
    EXPECT_LE(step["begun_s"], kept["steps_s"]);
  }
  EXPECT_EQ(kept["bytes"], bytes);
  EXPECT_GT(kept["overhead"], 0);
  EXPECT_LT(kept["overhead"], 1);
  EXPECT_NEAR(kept["durable_mb_s"],
              static_cast<double>(bytes) / 1e6 / kept["durable_s"].get<double>(), 1e-3);
  EXPECT_NE(run["fingerprint"], answer({"run", mesh, "--steps", "4"})["fingerprint"]);
  EXPECT_TRUE(answer({"run", mesh, "--steps", "0"})["kept"].is_null());
}

TEST(Commands, a_run_goes_on_from_the_checkpoint_that_is_asked_for) {
  const TempFolder folder;
  const std::string mesh = folder.file("mesh.fb");
  answer({"generate", mesh, "--cells", "4", "--parts", "5"});
  std::vector<std::string> words{"run",     mesh, "--checkpoints", folder.file("saved"),
                                 "--every", "2",  "--steps",       "6"};
  EXPECT_EQ(answer(words)["checkpoints_written"], 3);
  words.back() = "8";
  words.insert(words.end(), {"--resume-step", "2"});
  const Json run = answer(words);
  EXPECT_EQ(run["first_step"], 2);
  EXPECT_EQ(run["checkpoints_written"], 1);
  EXPECT_EQ(run["fingerprint"], answer({"run", mesh, "--steps", "8"})["fingerprint"]);
}

TEST(Commands, wrong_words_are_usage_errors) {
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
  for (const auto& words : wrong) {
    const command::Outcome outcome = run_words(words);
    EXPECT_EQ(outcome.exit_code, command::kExitUsage) << outcome.errors;
    EXPECT_NE(outcome.errors.find("\"usage\""), std::string::npos);
    EXPECT_TRUE(outcome.output.empty());
  }
}

TEST(Commands, failures_are_one_error_line) {
  const TempFolder folder;
  const command::Outcome outcome = run_words({"run", folder.file("none"), "--ranks", "3"});
  EXPECT_EQ(outcome.exit_code, command::kExitFailed);
  EXPECT_EQ(Json::parse(outcome.errors)["error"]["class"], "not-found");
}

TEST(Commands, threads_are_not_for_a_program_that_has_its_ranks) {
  const std::vector<std::string_view> words{"run", "x", "--ranks", "2"};
  const Ranks ranks{
      Ranks::Kind::kThese,
      [](std::uint32_t, const std::function<void(Team&)>& work) { run_as_threads(1, work); },
      make_alone};
  EXPECT_EQ(run_command(words, ranks).exit_code, command::kExitUsage);
}

}  // namespace
}  // namespace forebay::flow
