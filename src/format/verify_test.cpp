// SPDX-License-Identifier: Apache-2.0
#include "format/verify.hpp"

#include <chrono>
#include <fstream>
#include <random>

#include "format/data_header.hpp"
#include "format/dataset_testing.hpp"

namespace forebay::format {
namespace {

using VerifyTest = DatasetTest;

/// Adds a global array "grid" of 8 x 6 numbers to the parts; each file has some rows.
void add_grid(TestStep& step) {
  const std::uint64_t rows = 8 / step.files;
  for (std::uint32_t file = 0; file < step.files; ++file) {
    TestBlock block = {.field = {.name = "grid",
                                 .type = ElementType::kInt32,
                                 .kind = FieldKind::kGlobal,
                                 .dimensions = 2,
                                 .shape = {8, 6}},
                       .start = {file * rows, 0},
                       .shape = {rows, 6},
                       .file = file};
    block.raw = storage::pattern(rows * 6 * sizeof(std::int32_t));
    step.blocks.push_back(std::move(block));
  }
}

TEST_F(VerifyTest, valid_dataset_has_no_findings_with_any_number_of_threads) {
  TestWriter writer(path(), test_dataset_id(), 2);
  for (std::uint64_t step = 1; step <= 5; ++step)
    writer.write(test_step(step, 9, 4));
  for (const unsigned threads : {1U, 3U, 9U}) {
    std::uint64_t done = 0;
    const auto report = verify(path(), {.threads = threads, .progress = [&](const auto& progress) {
                                          done = progress.done_bytes;
                                          return true;
                                        }});
    ASSERT_TRUE(report) << report.error().message();
    for (const Finding& finding : report->findings)
      ADD_FAILURE() << finding.error.message();
    EXPECT_EQ(report->steps, 5U);
    EXPECT_EQ(report->files, 20U);
    EXPECT_EQ(report->blocks, 5 * 9 * 2U);
    EXPECT_EQ(report->raw_bytes, done);
    EXPECT_GT(done, 0U);
  }
}

/// Ranges of bytes that matter, with the expected text of a finding.
struct FlipTarget {
  std::string file;
  ByteRange range;
  std::string expected_text;
};

TEST_F(VerifyTest, every_flipped_bit_is_found_and_its_place_named) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  TestWriter writer(path(), test_dataset_id(), 2);
  for (std::uint64_t step = 1; step <= 4; ++step) {
    TestStep given = test_step(step, 5, 2);
    add_grid(given);
    if (step == 3) given.codec = Codec::kZstd;
    writer.write(given);
  }
  std::vector<FlipTarget> targets = {{"commits", {0, kSlotsBytes}, "slot "}};
  const auto catalog = open();
  for (const StepEntry& entry : catalog->steps()) {
    const auto step = catalog->step(entry.step).value();
    for (const StepFile& file : step->files()) {
      const std::string name = to_string(DataFileName{entry.group, file.entry.file});
      targets.push_back({name, {0, kPageBytes}, name});
      targets.push_back({name,
                         {file.entry.index.offset, file.entry.index.bytes},
                         "step " + std::to_string(entry.step)});
    }
    for (const StepField& field : step->fields()) {
      for (const BlockLocation& place : step->blocks(field.definition.name)) {
        const Block block = step->block(place);
        if (block.stored_bytes == 0) continue;
        const DataFileName name = {entry.group, step->files()[place.file].entry.file};
        targets.push_back(
            {to_string(name), {block.offset, block.stored_bytes}, step->describe(place)});
      }
    }
  }
  for (const FlipTarget& target : targets) {
    const std::uint64_t bit = target.range.offset * 8 + random() % (target.range.size * 8);
    flip_bit(target.file, bit);
    const auto report = verify(path());
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_EQ(report->findings.size(), 1U) << target.file << " bit " << bit;
    const Error& error = report->findings[0].error;
    EXPECT_TRUE(message_contains(error, target.file)) << error.message();
    EXPECT_TRUE(message_contains(error, target.expected_text)) << error.message();
    EXPECT_TRUE(error.offset_bytes().has_value()) << error.message();
    flip_bit(target.file, bit);
  }
}

TEST_F(VerifyTest, generation_being_written_is_no_damage) {
  TestWriter writer(path(), test_dataset_id());
  for (std::uint64_t step = 1; step <= 200; ++step) {
    writer.write(test_step(step, 1, 1));
    const StepEntry next = {.step = step + 1, .group = step + 1, .files = {{.file = 0}}};
    const auto plan = plan_commit(writer.state(), next, 0);
    ASSERT_TRUE(plan) << plan.error().message();
    // All writes but the last one, the slot.
    const auto file = storage::must_open(path("commits"), {.intent = storage::Intent::kWrite});
    for (const CommitWrite& write : plan->writes) {
      if (write.offset < kSlotsBytes) continue;
      ASSERT_TRUE(file->write_at(write.bytes, write.offset));
    }
    if (step % 20 != 0) continue;
    const auto report = verify(path());
    ASSERT_TRUE(report) << report.error().message();
    for (const Finding& finding : report->findings)
      ADD_FAILURE() << "step " << step << ": " << finding.error.message();
  }
}

TEST_F(VerifyTest, damaged_header_is_found_beside_a_damaged_index) {
  TestWriter(path(), test_dataset_id()).write(test_step(1, 3, 1));
  const auto index = open()->step(1).value()->files()[0].entry.index;
  flip_byte("data-000000.00000", 33);
  flip_byte("data-000000.00000", index.offset + 100);
  const auto report = verify(path());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->findings.size(), 2U);
}

TEST_F(VerifyTest, steps_dropped_meanwhile_are_skipped) {
  TestWriter writer(path(), test_dataset_id());
  for (std::uint64_t step = 1; step <= 4; ++step)
    writer.write(test_step(step, 3, 1));
  bool is_dropped = false;
  const auto drop = [&](const ReadProgress& /*now*/) {
    if (std::exchange(is_dropped, true)) return true;
    writer.drop_before(3);
    std::filesystem::remove(path("data-000001.00000"));
    return true;
  };
  const auto report = verify(path(), {.progress = drop});
  ASSERT_TRUE(report) << report.error().message();
  for (const Finding& finding : report->findings)
    ADD_FAILURE() << finding.error.message();
  EXPECT_EQ(report->steps, 3U) << "the first one was valid when it was read";
}

/// Some bits of compressed data do not affect the decompressed bytes.
TEST_F(VerifyTest, every_flipped_bit_of_a_compressed_block_is_found) {
  TestWriter writer(path(), test_dataset_id());
  TestStep given = test_step(1, 1, 1);
  given.codec = Codec::kZstd;
  writer.write(given);
  const auto catalog = open();
  const auto step = catalog->step(1).value();
  const BlockLocation place = step->blocks(step->fields().front().definition.name).front();
  const Block block = step->block(place);
  ASSERT_LT(block.stored_bytes, block.raw_bytes);
  const std::string file = to_string(DataFileName{0, step->files()[place.file].entry.file});
  for (std::uint64_t bit = block.offset * 8; bit < (block.offset + block.stored_bytes) * 8; ++bit) {
    flip_bit(file, bit);
    const auto report = verify(path());
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->findings.size(), 1U) << "bit " << bit;
    flip_bit(file, bit);
  }
}

TEST_F(VerifyTest, losses_of_short_missing_and_foreign_files_are_named) {
  TestWriter writer(path(), test_dataset_id());
  writer.write(test_step(1, 4, 4));
  truncate("data-000000.00001", 100);
  std::filesystem::remove(path("data-000000.00002"));
  const HeaderPage old = encode_header({test_dataset_id(), {17, 3}});
  const auto file =
      storage::must_open(path("data-000000.00003"), {.intent = storage::Intent::kWrite});
  ASSERT_TRUE(file->write_at(old, 0));
  const auto report = verify(path());
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->findings.size(), 4U);
  EXPECT_TRUE(message_contains(report->findings[0].error, "header")) << "it is short, too";
  EXPECT_EQ(report->findings[1].error.kind(), ErrorClass::kShortFile);
  EXPECT_EQ(report->findings[2].error.kind(), ErrorClass::kNotFound);
  EXPECT_EQ(report->findings[3].error.kind(), ErrorClass::kDamage);
  EXPECT_TRUE(message_contains(report->findings[3].error, "data-000017.00003"));
}

TEST_F(VerifyTest, duplicate_parts_are_named) {
  TestStep given = test_step(1, 3, 2);
  given.blocks.push_back(given.blocks[0]);
  given.blocks.back().file = 1;
  TestWriter(path(), test_dataset_id()).write(given);
  const auto report = verify(path());
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->findings.size(), 1U);
  EXPECT_EQ(report->findings[0].field, "pressure");
  EXPECT_EQ(report->findings[0].key, 0U);
}

TEST_F(VerifyTest, empty_slot_is_named_only_with_data_of_a_dead_writer) {
  TestWriter writer(path(), test_dataset_id());
  EXPECT_TRUE(verify(path())->findings.empty());
  writer.write(test_step(1, 4, 2));
  fill_with_zeros("commits", {kPageBytes, kPageBytes});
  const auto report = verify(path());
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->findings.size(), 1U);
  EXPECT_TRUE(message_contains(report->findings[0].error, "slot 1"));
  EXPECT_TRUE(message_contains(report->findings[0].error, "data-000000.00000"));
  // While a first step is being written, its indexes exist before it is published.
  std::ofstream(path("owner")) << "another writer";
  EXPECT_TRUE(verify(path())->findings.empty());
  std::filesystem::last_write_time(
      path("owner"), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(verify(path())->findings.size(), 1U);
}

TEST_F(VerifyTest, single_step_can_be_verified_and_cancelled) {
  TestWriter writer(path(), test_dataset_id());
  writer.write(test_step(1, 3, 1));
  writer.write(test_step(2, 3, 1));
  flip_byte("data-000000.00000", kPageBytes + 1);
  EXPECT_TRUE(verify(path(), {.step = 2})->findings.empty());
  EXPECT_EQ(verify(path(), {.step = 1})->findings.size(), 1U);
  EXPECT_EQ(error_class(verify(path(), {.step = 3})), ErrorClass::kNotFound);
  EXPECT_EQ(error_class(verify(path(), {.progress = [](const auto&) { return false; }})),
            ErrorClass::kCancelled);
}

}  // namespace
}  // namespace forebay::format
