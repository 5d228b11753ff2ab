// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/commands.hpp"

#include <filesystem>
#include <fstream>

#include "command/testing.hpp"
#include "format/testing.hpp"
#include "write/lease.hpp"

namespace forebay::dataset_tool {
namespace {

using command::CommandResult;
using command::Json;
using ArgumentList = std::vector<std::string_view>;

class DatasetCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    format::TestWriter writer(path_, format::test_dataset_id());
    for (const std::uint64_t step : {10U, 20U})
      writer.write(format::test_step(step, 5, 2));
  }
  static Json run(const ArgumentList& words, int exit_code) {
    const CommandResult outcome = run_command(words);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.errors;
    return Json::parse(outcome.output.empty() ? outcome.errors : outcome.output);
  }
  void flip(const std::string& name, std::size_t at) {
    std::vector<std::byte> bytes = command::testing::read_file(path_ + "/" + name);
    bytes.at(at) ^= std::byte{16};
    command::testing::write_file(path_ + "/" + name, bytes);
  }

  command::testing::TempDirectory directory_;
  const std::string path_ = directory_.file("run.fb");
};

TEST_F(DatasetCommands, ls_lists_steps_fields_and_blocks) {
  const Json document = run({"ls", path_, "--parts", "--step", "10"}, 0);
  EXPECT_EQ(document["steps"].size(), 2U);
  EXPECT_EQ(document["step"]["step"], 10);
  EXPECT_EQ(document["step"]["fields"][0]["name"], "pressure");
  EXPECT_EQ(document["step"]["blocks"].size(), 10U);
  EXPECT_TRUE(document["damages"].empty());
  EXPECT_TRUE(document["ok"]);
}

TEST_F(DatasetCommands, ls_and_diff_have_attributes) {
  format::TestStep step = format::test_step(30, 5, 1);
  format::AttributeTable& table = step.attributes[0];
  ASSERT_TRUE(table.set({.name = "time"}, 0.5));
  ASSERT_TRUE(table.set({.name = "cycle"}, std::vector{INT64_MAX, INT64_MIN}));
  ASSERT_TRUE(table.set({format::AttributeScope::kDataset, "", "title"}, "A\trun"));
  ASSERT_TRUE(table.set({format::AttributeScope::kField, "velocity", "units"}, "m"));
  const std::string other = directory_.file("other.fb");
  format::TestWriter(other, format::test_dataset_id()).write(step);
  const Json listed = run({"ls", other}, 0)["step"];
  EXPECT_EQ(listed["attributes"][0]["value"], (std::vector{INT64_MAX, INT64_MIN}));
  EXPECT_EQ(listed["attributes"][1]["name"], "time");
  EXPECT_EQ(listed["dataset_attributes"][0]["value"], "A\trun");
  EXPECT_EQ(listed["dataset_attributes"][0]["text"], "A\\x09run");
  EXPECT_EQ(listed["fields"][1]["attributes"][0]["value"], "m");
  const Json compared =
      run({"diff", other, path_, "--field", "velocity"}, command::kExitProblemsFound);
  ASSERT_EQ(compared["attributes"].size(), 1U);
  EXPECT_EQ(compared["attributes"][0]["left"]["value"], "m");
  EXPECT_TRUE(compared["attributes"][0]["right"].is_null());
  EXPECT_TRUE(run({"diff", other, other}, 0)["attributes"].empty());
}

TEST_F(DatasetCommands, ls_of_a_damaged_dataset_is_complete_and_not_ok) {
  std::filesystem::remove(path_ + "/data-000001.00001");
  const Json document = run({"ls", path_}, command::kExitProblemsFound);
  EXPECT_FALSE(document["ok"]);
  EXPECT_EQ(document["steps"].size(), 2U);
  EXPECT_EQ(document["damages"].size(), 1U);
  EXPECT_TRUE(run({"ls", path_, "--step", "10"}, 0)["ok"]);
}

TEST_F(DatasetCommands, verify_reports_damage_with_field_and_part) {
  EXPECT_TRUE(run({"verify", path_}, 0)["ok"]);
  flip("data-000000.00000", 4096);
  const Json document = run({"verify", path_}, command::kExitProblemsFound);
  ASSERT_EQ(document["findings"].size(), 1U);
  const Json finding = document["findings"][0];
  EXPECT_EQ(finding["file"], "data-000000.00000");
  EXPECT_EQ(finding["step"], 10);
  EXPECT_EQ(finding["field"], "pressure");
  EXPECT_EQ(finding["key"], 0);
  EXPECT_EQ(finding["lost_bytes"], 800);
}

TEST_F(DatasetCommands, verify_reports_missing_commits) {
  std::filesystem::remove(path_ + "/commits");
  const Json document = run({"verify", path_}, command::kExitProblemsFound);
  EXPECT_EQ(document["findings"][0]["file"], "commits");
  EXPECT_EQ(run({"verify", directory_.file("nothing.fb")}, 1)["error"]["class"], "not-found");
}

TEST_F(DatasetCommands, repair_recovers_steps) {
  std::filesystem::remove(path_ + "/commits");
  EXPECT_TRUE(run({"repair", path_, "--dry-run"}, 0)["dry_run"]);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/commits"));
  const Json document = run({"repair", path_}, 0);
  EXPECT_EQ(document["steps"][1]["outcome"], "recovered");
  EXPECT_TRUE(run({"verify", path_}, 0)["ok"]);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/owner"));
}

TEST_F(DatasetCommands, repair_fails_while_a_writer_holds_the_lease) {
  std::filesystem::remove(path_ + "/commits");
  const auto lease = write::Lease::acquire(path_);
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(run({"repair", path_}, 1)["error"]["class"], "permission");
  EXPECT_FALSE(std::filesystem::exists(path_ + "/commits"));
  EXPECT_EQ(run({"repair", path_, "--dry-run"}, 0)["steps"].size(), 2U);
}

TEST_F(DatasetCommands, ls_of_a_dataset_without_steps) {
  const std::string path = directory_.file("empty.fb");
  const format::TestWriter writer(path, format::test_dataset_id());
  const Json document = run({"ls", path}, 0);
  EXPECT_TRUE(document["steps"].empty());
  EXPECT_TRUE(document["step"].is_null());
  EXPECT_EQ(run({"diff", path, path}, 1)["error"]["class"], "not-found");
}

TEST_F(DatasetCommands, diff_compares_fields_and_steps) {
  EXPECT_TRUE(run({"diff", path_, path_}, 0)["ok"]);
  const Json document =
      run({"diff", path_, path_, "--left-step", "10", "--right-step", "20", "--field", "pressure"},
          command::kExitProblemsFound);
  ASSERT_EQ(document["fields"].size(), 1U);
  EXPECT_EQ(document["fields"][0]["absolute_max"], 10000);
  EXPECT_EQ(run({"diff", path_, path_, "--field", "x"}, 1)["error"]["class"], "not-found");
}

TEST_F(DatasetCommands, part_in_two_files_is_not_exported) {
  const std::string path = directory_.file("twice.fb");
  format::TestStep step = format::test_step(1, 5, 2);
  step.blocks.push_back(step.blocks.back());  // velocity of part 4
  step.blocks.back().file = 1;
  format::TestWriter(path, format::test_dataset_id()).write(step);
  const Json error = run({"read", path}, command::kExitFailure)["error"];
  EXPECT_EQ(error["class"], "damage");
  const std::string message = error["message"];
  for (const char* const text :
       {"field velocity, part 4", "data-000000.00000", "data-000000.00001"})
    EXPECT_NE(message.find(text), std::string::npos) << message;
  EXPECT_EQ(run({"ls", path}, command::kExitProblemsFound)["damages"].size(), 1);
}

TEST_F(DatasetCommands, overlapping_blocks_are_neither_exported_nor_compared) {
  const std::string path = directory_.file("overlapping.fb");
  format::TestStep step = format::test_step(1, 2, 2);
  for (const std::uint32_t start : {0U, 1U}) {
    step.blocks.push_back({.field = {.name = "u",
                                     .type = ElementType::kFloat64,
                                     .kind = format::FieldKind::kGlobal,
                                     .shape = {8}},
                           .start = {start},
                           .shape = {4},
                           .raw = std::vector<std::byte>(4 * sizeof(double)),
                           .file = start});
  }
  format::TestWriter(path, format::test_dataset_id()).write(step);
  for (const ArgumentList& words : {ArgumentList{"read", path}, ArgumentList{"diff", path, path}}) {
    const Json error = run(words, command::kExitFailure)["error"];
    EXPECT_EQ(error["class"], "damage");
    const std::string message = error["message"];
    for (const char* const text : {"field u, block at element 0", "field u, block at element 1",
                                   "data-000000.00000", "data-000000.00001"})
      EXPECT_NE(message.find(text), std::string::npos) << message;
  }
  EXPECT_TRUE(run({"diff", path, path, "--field", "pressure"}, 0)["ok"]);
}

TEST_F(DatasetCommands, error_without_tables_names_the_repair_command) {
  std::filesystem::remove(path_ + "/commits");
  for (const ArgumentList& words : {ArgumentList{"ls", path_}, ArgumentList{"diff", path_, path_},
                                    ArgumentList{"read", path_}, ArgumentList{"places", path_}}) {
    const Json error = run(words, command::kExitFailure)["error"];
    EXPECT_EQ(error["class"], "not-found");
    EXPECT_EQ(error["path"], path_ + "/commits");
    const std::string message = error["message"];
    EXPECT_NE(message.find("; `forebay repair DATASET`"), std::string::npos) << message;
  }
}

TEST_F(DatasetCommands, directory_without_dataset_is_reported_as_such) {
  const std::string path = directory_.file("empty.fb");
  std::filesystem::create_directory(path);
  for (const ArgumentList& words :
       {ArgumentList{"ls", path}, ArgumentList{"verify", path}, ArgumentList{"diff", path, path_},
        ArgumentList{"read", path}, ArgumentList{"repair", path},
        ArgumentList{"repair", path, "--dry-run"}}) {
    const Json error = run(words, command::kExitFailure)["error"];
    EXPECT_EQ(error["class"], "not-found");
    EXPECT_EQ(error["path"], path);
    const std::string message = error["message"];
    EXPECT_NE(message.find("it is not a dataset"), std::string::npos) << message;
  }
  EXPECT_TRUE(std::filesystem::is_empty(path));
  EXPECT_EQ(run({"ls", directory_.file("nothing.fb")}, 1)["error"]["class"], "not-found");
}

TEST_F(DatasetCommands, invalid_arguments_are_usage_errors) {
  EXPECT_EQ(run_command({}).exit_code, command::kExitUsage);
  const ArgumentList words = {"ls", path_, "--step", "x"};
  EXPECT_EQ(run_command(words).exit_code, command::kExitUsage);
}

}  // namespace
}  // namespace forebay::dataset_tool
