// SPDX-License-Identifier: Apache-2.0
// Documents of intact and damaged datasets, and the Errors of what has none.
#include <filesystem>

#include "base/testing.hpp"
#include "command/testing.hpp"
#include "format/testing.hpp"
#include "tools/dataset/block_stream.hpp"
#include "tools/dataset/compare.hpp"
#include "tools/dataset/verify_repair.hpp"
#include "write/lease.hpp"

namespace forebay::dataset_tool {
namespace {

using command::Json;

/// The document, which must have this "ok".
Json made(const Result<Json>& result, bool is_ok = true) {
  EXPECT_TRUE(result) << result.error().message();
  if (!result) return Json::object();
  EXPECT_EQ(result->value("ok", true), is_ok) << *result;
  return *result;
}

class DatasetDocuments : public ::testing::Test {
 protected:
  void SetUp() override {
    format::TestWriter writer(path_, format::test_dataset_id());
    for (const std::uint64_t step : {10U, 20U})
      writer.write(format::test_step(step, 5, 2));
  }
  void flip(const std::string& name, std::size_t at) {
    std::vector<std::byte> bytes = command::testing::read_file(path_ + "/" + name);
    bytes.at(at) ^= std::byte{16};
    command::testing::write_file(path_ + "/" + name, bytes);
  }
  command::testing::TempDirectory directory_;
  const std::string path_ = directory_.file("run.fb");
};

TEST_F(DatasetDocuments, ls_lists_steps_fields_and_blocks) {
  const Json document = made(list({.path = path_, .step = 10, .blocks = Blocks::kList}));
  EXPECT_EQ(document["steps"].size(), 2U);
  EXPECT_EQ(document["step"]["step"], 10);
  EXPECT_EQ(document["step"]["fields"][0]["name"], "pressure");
  EXPECT_EQ(document["step"]["blocks"].size(), 10U);
  EXPECT_TRUE(document["damages"].empty());
  EXPECT_TRUE(document["ok"]);
}

TEST_F(DatasetDocuments, ls_and_diff_have_attributes) {
  format::TestStep step = format::test_step(30, 5, 1);
  format::AttributeTable& table = step.attributes[0];
  ASSERT_TRUE(table.set({.name = "time"}, 0.5));
  ASSERT_TRUE(table.set({.name = "cycle"}, std::vector{INT64_MAX, INT64_MIN}));
  ASSERT_TRUE(table.set({format::AttributeScope::kDataset, "", "title"}, "A\trun"));
  ASSERT_TRUE(table.set({format::AttributeScope::kField, "velocity", "units"}, "m"));
  const std::string other = directory_.file("other.fb");
  format::TestWriter(other, format::test_dataset_id()).write(step);
  const Json listed = made(list({.path = other}))["step"];
  EXPECT_EQ(listed["attributes"][0]["value"], (std::vector{INT64_MAX, INT64_MIN}));
  EXPECT_EQ(listed["attributes"][1]["name"], "time");
  EXPECT_EQ(listed["dataset_attributes"][0]["value"], "A\trun");
  EXPECT_EQ(listed["dataset_attributes"][0]["text"], "A\\x09run");
  EXPECT_EQ(listed["fields"][1]["attributes"][0]["value"], "m");
  const Json compared =
      made(compare({.left = {other}, .right = {path_}, .fields = {"velocity"}}), false);
  ASSERT_EQ(compared["attributes"].size(), 1U);
  EXPECT_EQ(compared["attributes"][0]["left"]["value"], "m");
  EXPECT_TRUE(compared["attributes"][0]["right"].is_null());
  EXPECT_TRUE(made(compare({.left = {other}, .right = {other}}))["attributes"].empty());
}

TEST_F(DatasetDocuments, ls_of_a_damaged_dataset_is_complete_and_not_ok) {
  std::filesystem::remove(path_ + "/data-000001.00001");
  const Json document = made(list({.path = path_}), false);
  EXPECT_EQ(document["steps"].size(), 2U);
  EXPECT_EQ(document["damages"].size(), 1U);
  made(list({.path = path_, .step = 10}));
}

TEST_F(DatasetDocuments, verify_reports_damage_with_field_and_part) {
  made(verify({.path = path_}));
  flip("data-000000.00000", 4096);
  const Json document = made(verify({.path = path_}), false);
  ASSERT_EQ(document["findings"].size(), 1U);
  const Json finding = document["findings"][0];
  EXPECT_EQ(finding["file"], "data-000000.00000");
  EXPECT_EQ(finding["step"], 10);
  EXPECT_EQ(finding["field"], "pressure");
  EXPECT_EQ(finding["key"], 0);
  EXPECT_EQ(finding["lost_bytes"], 800);
}

TEST_F(DatasetDocuments, verify_reports_missing_commits) {
  std::filesystem::remove(path_ + "/commits");
  const Json document = made(verify({.path = path_}), false);
  EXPECT_EQ(document["findings"][0]["file"], "commits");
  EXPECT_EQ(error_class(verify({.path = directory_.file("nothing.fb")})), ErrorClass::kNotFound);
}

TEST_F(DatasetDocuments, repair_recovers_steps) {
  std::filesystem::remove(path_ + "/commits");
  EXPECT_TRUE(made(repair_tables(path_, RepairMode::kDryRun))["dry_run"]);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/commits"));
  const Json document = made(repair_tables(path_, RepairMode::kWrite));
  EXPECT_EQ(document["steps"][1]["outcome"], "recovered");
  made(verify({.path = path_}));
  EXPECT_FALSE(std::filesystem::exists(path_ + "/owner"));
}

TEST_F(DatasetDocuments, repair_fails_while_a_writer_holds_the_lease) {
  std::filesystem::remove(path_ + "/commits");
  const auto lease = write::Lease::acquire(path_);
  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(error_class(repair_tables(path_, RepairMode::kWrite)), ErrorClass::kPermission);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/commits"));
  EXPECT_EQ(made(repair_tables(path_, RepairMode::kDryRun))["steps"].size(), 2U);
}

TEST_F(DatasetDocuments, ls_of_a_dataset_without_steps) {
  const std::string path = directory_.file("empty.fb");
  const format::TestWriter writer(path, format::test_dataset_id());
  const Json document = made(list({.path = path}));
  EXPECT_TRUE(document["steps"].empty());
  EXPECT_TRUE(document["step"].is_null());
  EXPECT_EQ(error_class(compare({.left = {path}, .right = {path}})), ErrorClass::kNotFound);
}

TEST_F(DatasetDocuments, diff_compares_fields_and_steps) {
  made(compare({.left = {path_}, .right = {path_}}));
  const Json document =
      made(compare({.left = {path_, 10}, .right = {path_, 20}, .fields = {"pressure"}}), false);
  ASSERT_EQ(document["fields"].size(), 1U);
  EXPECT_EQ(document["fields"][0]["absolute_max"], 10000);
  EXPECT_EQ(error_class(compare({.left = {path_}, .right = {path_}, .fields = {"x"}})),
            ErrorClass::kNotFound);
}

TEST_F(DatasetDocuments, part_in_two_files_is_not_exported) {
  const std::string path = directory_.file("twice.fb");
  format::TestStep step = format::test_step(1, 5, 2);
  step.blocks.push_back(step.blocks.back());  // velocity of part 4
  step.blocks.back().file = 1;
  format::TestWriter(path, format::test_dataset_id()).write(step);
  const Error error = BlockStream::open({.path = path}).error();
  EXPECT_EQ(error.kind(), ErrorClass::kDamage);
  for (const char* const text :
       {"field velocity, part 4", "data-000000.00000", "data-000000.00001"})
    EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
  EXPECT_EQ(made(list({.path = path}), false)["damages"].size(), 1);
}

TEST_F(DatasetDocuments, overlapping_blocks_are_neither_exported_nor_compared) {
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
  std::vector<Error> errors{BlockStream::open({.path = path}).error()};
  errors.push_back(compare({.left = {path}, .right = {path}}).error());
  for (const Error& error : errors) {
    EXPECT_EQ(error.kind(), ErrorClass::kDamage);
    const std::string message = error.message();
    for (const char* const text : {"field u, block at element 0", "field u, block at element 1",
                                   "data-000000.00000", "data-000000.00001"})
      EXPECT_NE(message.find(text), std::string::npos) << message;
  }
  made(compare({.left = {path}, .right = {path}, .fields = {"pressure"}}));
}

TEST_F(DatasetDocuments, block_stream_reads_all_bytes_in_slabs) {
  auto stream = BlockStream::open({.path = path_, .step = 10, .fields = {"pressure"}});
  ASSERT_TRUE(stream) << stream.error().message();
  const Json head = stream->head();
  EXPECT_EQ(head["fields"][0]["name"], "pressure");
  std::uint64_t bytes = 0;
  while (const auto block = stream->next()) {
    EXPECT_EQ(block->at("field"), 0);
    std::vector<std::byte> slab(block->at("bytes").get<std::size_t>() / 2);
    EXPECT_TRUE(stream->read(slab));
    EXPECT_TRUE(stream->read(slab));
    slab.resize(slab.size() + 1);
    EXPECT_EQ(error_class(stream->read(slab)), ErrorClass::kOutOfRange);
    bytes += 2 * (slab.size() - 1);
  }
  EXPECT_EQ(bytes, head["bytes"]);
}

TEST_F(DatasetDocuments, progress_that_returns_false_ends_with_cancelled) {
  const auto cancel = [](const probe::ProgressStep&) { return false; };
  EXPECT_EQ(error_class(verify({.path = path_, .progress = cancel})), ErrorClass::kCancelled);
  EXPECT_EQ(error_class(compare({.left = {path_, 10}, .right = {path_, 20}, .progress = cancel})),
            ErrorClass::kCancelled);
}

TEST_F(DatasetDocuments, error_without_tables_names_the_repair_command) {
  std::filesystem::remove(path_ + "/commits");
  std::vector<Error> errors{BlockStream::open({.path = path_}).error(),
                            list_places({.path = path_}).error()};
  errors.push_back(list({.path = path_}).error());
  errors.push_back(compare({.left = {path_}, .right = {path_}}).error());
  for (const Error& error : errors) {
    EXPECT_EQ(error.kind(), ErrorClass::kNotFound);
    EXPECT_EQ(error.path(), path_ + "/commits");
    const std::string message = error.message();
    EXPECT_NE(message.find("; `forebay repair DATASET`"), std::string::npos) << message;
  }
}

TEST_F(DatasetDocuments, directory_without_dataset_is_reported_as_such) {
  const std::string path = directory_.file("empty.fb");
  std::filesystem::create_directory(path);
  std::vector<Error> errors{BlockStream::open({.path = path}).error()};
  errors.push_back(list({.path = path}).error());
  errors.push_back(verify({.path = path}).error());
  errors.push_back(compare({.left = {path}, .right = {path_}}).error());
  errors.push_back(repair_tables(path, RepairMode::kWrite).error());
  errors.push_back(repair_tables(path, RepairMode::kDryRun).error());
  for (const Error& error : errors) {
    EXPECT_EQ(error.kind(), ErrorClass::kNotFound);
    EXPECT_EQ(error.path(), path);
    const std::string message = error.message();
    EXPECT_NE(message.find("it is not a dataset"), std::string::npos) << message;
  }
  EXPECT_TRUE(std::filesystem::is_empty(path));
  EXPECT_EQ(error_class(list({.path = directory_.file("nothing.fb")})), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay::dataset_tool
