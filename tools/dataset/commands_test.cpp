// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/commands.hpp"

#include <filesystem>
#include <fstream>

#include "command/testing.hpp"
#include "format/testing.hpp"
#include "write/lease.hpp"

namespace forebay::dataset_tool {
namespace {

using command::Json;
using command::Outcome;
using Words = std::vector<std::string_view>;

class DatasetCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    format::TestWriter writer(path_, format::test_dataset());
    for (const std::uint64_t step : {10U, 20U})
      writer.write(format::test_step(step, 5, 2));
  }
  static Json answer(const Words& words, int exit_code) {
    const Outcome outcome = run_command(words);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.errors;
    return Json::parse(outcome.output.empty() ? outcome.errors : outcome.output);
  }
  void flip(const std::string& name, std::size_t at) {
    std::vector<std::byte> bytes = command::testing::contents_of(path_ + "/" + name);
    bytes.at(at) ^= std::byte{16};
    command::testing::write_file(path_ + "/" + name, bytes);
  }

  command::testing::TempFolder folder_;
  const std::string path_ = folder_.file("run.fb");
};

TEST_F(DatasetCommands, ls_tells_steps_fields_and_blocks) {
  const Json document = answer({"ls", path_, "--parts", "--step", "10"}, 0);
  EXPECT_EQ(document["steps"].size(), 2U);
  EXPECT_EQ(document["step"]["step"], 10);
  EXPECT_EQ(document["step"]["fields"][0]["name"], "pressure");
  EXPECT_EQ(document["step"]["blocks"].size(), 10U);
  EXPECT_TRUE(document["damages"].empty());
  EXPECT_TRUE(document["ok"]);
}

TEST_F(DatasetCommands, ls_of_what_is_damaged_is_complete_and_not_ok) {
  std::filesystem::remove(path_ + "/data-000001.00001");
  const Json document = answer({"ls", path_}, command::kExitProblems);
  EXPECT_FALSE(document["ok"]);
  EXPECT_EQ(document["steps"].size(), 2U);
  EXPECT_EQ(document["damages"].size(), 1U);
  EXPECT_TRUE(answer({"ls", path_, "--step", "10"}, 0)["ok"]);
}

TEST_F(DatasetCommands, verify_names_what_is_damaged) {
  EXPECT_TRUE(answer({"verify", path_}, 0)["ok"]);
  flip("data-000000.00000", 4096);
  const Json document = answer({"verify", path_}, command::kExitProblems);
  ASSERT_EQ(document["findings"].size(), 1U);
  const Json finding = document["findings"][0];
  EXPECT_EQ(finding["file"], "data-000000.00000");
  EXPECT_EQ(finding["step"], 10);
  EXPECT_EQ(finding["field"], "pressure");
  EXPECT_EQ(finding["key"], 0);
  EXPECT_EQ(finding["lost_bytes"], 800);
}

TEST_F(DatasetCommands, verify_finds_that_commits_are_gone) {
  std::filesystem::remove(path_ + "/commits");
  const Json document = answer({"verify", path_}, command::kExitProblems);
  EXPECT_EQ(document["findings"][0]["file"], "commits");
  EXPECT_EQ(answer({"verify", folder_.file("nothing.fb")}, 1)["error"]["class"], "not-found");
}

TEST_F(DatasetCommands, repair_brings_steps_back) {
  std::filesystem::remove(path_ + "/commits");
  EXPECT_TRUE(answer({"repair", path_, "--dry-run"}, 0)["dry_run"]);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/commits"));
  const Json document = answer({"repair", path_}, 0);
  EXPECT_EQ(document["steps"][1]["fate"], "recovered");
  EXPECT_TRUE(answer({"verify", path_}, 0)["ok"]);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/owner"));
}

TEST_F(DatasetCommands, repair_refuses_while_somebody_writes) {
  std::filesystem::remove(path_ + "/commits");
  const auto lease = write::Lease::acquire(path_);
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(answer({"repair", path_}, 1)["error"]["class"], "permission");
  EXPECT_FALSE(std::filesystem::exists(path_ + "/commits"));
  EXPECT_EQ(answer({"repair", path_, "--dry-run"}, 0)["steps"].size(), 2U);
}

TEST_F(DatasetCommands, ls_of_a_dataset_without_steps) {
  const std::string path = folder_.file("empty.fb");
  const format::TestWriter writer(path, format::test_dataset());
  const Json document = answer({"ls", path}, 0);
  EXPECT_TRUE(document["steps"].empty());
  EXPECT_TRUE(document["step"].is_null());
  EXPECT_EQ(answer({"diff", path, path}, 1)["error"]["class"], "not-found");
}

TEST_F(DatasetCommands, diff_compares_fields_and_steps) {
  EXPECT_TRUE(answer({"diff", path_, path_}, 0)["ok"]);
  const Json document = answer(
      {"diff", path_, path_, "--left-step", "10", "--right-step", "20", "--field", "pressure"},
      command::kExitProblems);
  ASSERT_EQ(document["fields"].size(), 1U);
  EXPECT_EQ(document["fields"][0]["absolute_max"], 10000);
  EXPECT_EQ(answer({"diff", path_, path_, "--field", "x"}, 1)["error"]["class"], "not-found");
}

TEST_F(DatasetCommands, references_say_where_parts_are) {
  const std::string output = folder_.file("refs.json");
  EXPECT_EQ(answer({"references", path_, output}, 0)["arrays"], 10);
  std::ifstream file(output);
  const Json references = Json::parse(file);
  const Json chunk = references["refs"]["velocity/2/0.0"];
  EXPECT_EQ(chunk[2], 174 * 3 * 4);
  EXPECT_FALSE(references["refs"].contains("velocity/1/0.0"));
  const Json array = Json::parse(references["refs"]["velocity/1/.zarray"].get<std::string>());
  EXPECT_EQ(array["shape"], Json({0, 3}));
}

TEST_F(DatasetCommands, a_part_that_two_files_have_is_not_exported) {
  const std::string path = folder_.file("twice.fb");
  format::TestStep step = format::test_step(1, 5, 2);
  step.blocks.push_back(step.blocks.back());  // velocity of part 4
  step.blocks.back().file = 1;
  format::TestWriter(path, format::test_dataset()).write(step);
  const std::string output = folder_.file("refs.json");
  for (const Words& words : {Words{"references", path, output}, Words{"read", path}}) {
    const Json error = answer(words, command::kExitFailed)["error"];
    EXPECT_EQ(error["class"], "damage");
    const std::string message = error["message"];
    for (const char* const text :
         {"field velocity, part 4", "data-000000.00000", "data-000000.00001"})
      EXPECT_NE(message.find(text), std::string::npos) << message;
  }
  EXPECT_FALSE(std::filesystem::exists(output));
  EXPECT_EQ(answer({"ls", path}, command::kExitProblems)["damages"].size(), 1);
  EXPECT_EQ(answer({"references", path, output, "--field", "pressure"}, 0)["arrays"], 5);
}

TEST_F(DatasetCommands, blocks_that_overlap_are_neither_exported_nor_compared) {
  const std::string path = folder_.file("overlapping.fb");
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
  format::TestWriter(path, format::test_dataset()).write(step);
  const std::string output = folder_.file("refs.json");
  for (const Words& words :
       {Words{"references", path, output}, Words{"read", path}, Words{"diff", path, path}}) {
    const Json error = answer(words, command::kExitFailed)["error"];
    EXPECT_EQ(error["class"], "damage");
    const std::string message = error["message"];
    for (const char* const text : {"field u, block at element 0", "field u, block at element 1",
                                   "data-000000.00000", "data-000000.00001"})
      EXPECT_NE(message.find(text), std::string::npos) << message;
  }
  EXPECT_FALSE(std::filesystem::exists(output));
  EXPECT_EQ(answer({"references", path, output, "--field", "pressure"}, 0)["arrays"], 2);
  EXPECT_TRUE(answer({"diff", path, path, "--field", "pressure"}, 0)["ok"]);
}

TEST_F(DatasetCommands, references_to_a_path_that_is_no_text_are_refused) {
  const std::string path = folder_.file("gr\xfc\xdf.fb");
  std::filesystem::rename(path_, path);
  const std::string link = folder_.file("link.fb");
  std::filesystem::create_symlink(path, link);
  const std::string output = folder_.file("refs.json");
  for (const std::string& given : {path, link}) {
    const Json error = answer({"references", given, output}, command::kExitFailed)["error"];
    EXPECT_EQ(error["class"], "unsupported");
    EXPECT_NE(error["message"].get<std::string>().find("UTF-8"), std::string::npos) << error;
    EXPECT_FALSE(std::filesystem::exists(output));
  }
  EXPECT_TRUE(answer({"ls", path}, 0)["ok"]);
}

TEST_F(DatasetCommands, a_dataset_without_tables_is_sent_to_repair) {
  std::filesystem::remove(path_ + "/commits");
  const std::string output = folder_.file("refs.json");
  for (const Words& words : {Words{"ls", path_}, Words{"diff", path_, path_}, Words{"read", path_},
                             Words{"references", path_, output}}) {
    const Json error = answer(words, command::kExitFailed)["error"];
    EXPECT_EQ(error["class"], "not-found");
    EXPECT_EQ(error["path"], path_ + "/commits");
    const std::string message = error["message"];
    EXPECT_NE(message.find("; `forebay repair DATASET`"), std::string::npos) << message;
  }
}

TEST_F(DatasetCommands, a_folder_that_is_no_dataset_is_called_that) {
  const std::string path = folder_.file("empty.fb");
  std::filesystem::create_directory(path);
  for (const Words& words :
       {Words{"ls", path}, Words{"verify", path}, Words{"diff", path, path_}, Words{"read", path},
        Words{"repair", path}, Words{"repair", path, "--dry-run"}}) {
    const Json error = answer(words, command::kExitFailed)["error"];
    EXPECT_EQ(error["class"], "not-found");
    EXPECT_EQ(error["path"], path);
    const std::string message = error["message"];
    EXPECT_NE(message.find("it is no dataset"), std::string::npos) << message;
  }
  EXPECT_TRUE(std::filesystem::is_empty(path));
  EXPECT_EQ(answer({"ls", folder_.file("nothing.fb")}, 1)["error"]["class"], "not-found");
}

TEST_F(DatasetCommands, wrong_words_are_errors_of_usage) {
  EXPECT_EQ(run_command({}).exit_code, command::kExitUsage);
  const Words words = {"ls", path_, "--step", "x"};
  EXPECT_EQ(run_command(words).exit_code, command::kExitUsage);
}

}  // namespace
}  // namespace forebay::dataset_tool
