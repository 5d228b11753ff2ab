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

/// Puts a global array "grid" of 8 x 6 numbers beside the parts, of which each file has some rows.
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

TEST_F(VerifyTest, finds_nothing_in_a_whole_dataset_with_any_number_of_threads) {
  TestWriter writer(path(), test_dataset(), 2);
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

/// Where each byte that matters lies, with what a finding of it must say.
struct Target {
  std::string file;
  ByteRange range;
  std::string mentioned;
};

TEST_F(VerifyTest, finds_a_bit_flipped_anywhere_and_names_where_it_belongs) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  TestWriter writer(path(), test_dataset(), 2);
  for (std::uint64_t step = 1; step <= 4; ++step) {
    TestStep given = test_step(step, 5, 2);
    add_grid(given);
    if (step == 3) given.codec = Codec::kZstd;
    writer.write(given);
  }
  std::vector<Target> targets = {{"commits", {0, kSlotsBytes}, "slot "}};
  const auto catalog = open();
  for (const StepEntry& entry : catalog->steps()) {
    const auto step = catalog->step(entry.step).value();
    for (const StepFile& file : step->files()) {
      const std::string name = text_of(DataFileName{entry.group, file.entry.file});
      targets.push_back({name, {0, kPageBytes}, name});
      targets.push_back({name,
                         {file.entry.index.offset, file.entry.index.bytes},
                         "step " + std::to_string(entry.step)});
    }
    for (const StepField& field : step->fields()) {
      for (const BlockPlace& place : step->blocks(field.definition.name)) {
        const Block block = step->block(place);
        if (block.stored_bytes == 0) continue;
        const DataFileName name = {entry.group, step->files()[place.file].entry.file};
        targets.push_back(
            {text_of(name), {block.offset, block.stored_bytes}, step->describe(place)});
      }
    }
  }
  for (const Target& target : targets) {
    const std::uint64_t bit = target.range.offset * 8 + random() % (target.range.size * 8);
    flip_bit(target.file, bit);
    const auto report = verify(path());
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_EQ(report->findings.size(), 1U) << target.file << " bit " << bit;
    const Error& error = report->findings[0].error;
    EXPECT_TRUE(mentions(error, target.file)) << error.message();
    EXPECT_TRUE(mentions(error, target.mentioned)) << error.message();
    EXPECT_TRUE(error.offset_bytes().has_value()) << error.message();
    flip_bit(target.file, bit);
  }
}

TEST_F(VerifyTest, is_content_while_the_next_generation_is_being_written) {
  TestWriter writer(path(), test_dataset());
  for (std::uint64_t step = 1; step <= 200; ++step) {
    writer.write(test_step(step, 1, 1));
    const StepEntry next = {.step = step + 1, .group = step + 1, .files = {{.file = 0}}};
    const auto plan = plan_publish(writer.state(), next, 0);
    ASSERT_TRUE(plan) << plan.error().message();
    // All but the slot, which comes last.
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

TEST_F(VerifyTest, names_a_header_although_the_index_of_its_file_is_damaged) {
  TestWriter(path(), test_dataset()).write(test_step(1, 3, 1));
  const auto index = open()->step(1).value()->files()[0].entry.index;
  flip("data-000000.00000", 33);
  flip("data-000000.00000", index.offset + 100);
  const auto report = verify(path());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->findings.size(), 2U);
}

TEST_F(VerifyTest, passes_over_steps_that_are_dropped_meanwhile) {
  TestWriter writer(path(), test_dataset());
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
  EXPECT_EQ(report->steps, 3U) << "the first one was whole when it was read";
}

/// Some bits of a frame change nothing of what comes out of it.
TEST_F(VerifyTest, finds_every_bit_of_a_compressed_block) {
  TestWriter writer(path(), test_dataset());
  TestStep given = test_step(1, 1, 1);
  given.codec = Codec::kZstd;
  writer.write(given);
  const auto catalog = open();
  const auto step = catalog->step(1).value();
  const BlockPlace place = step->blocks(step->fields().front().definition.name).front();
  const Block block = step->block(place);
  ASSERT_LT(block.stored_bytes, block.raw_bytes);
  const std::string file = text_of(DataFileName{0, step->files()[place.file].entry.file});
  for (std::uint64_t bit = block.offset * 8; bit < (block.offset + block.stored_bytes) * 8; ++bit) {
    flip_bit(file, bit);
    const auto report = verify(path());
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->findings.size(), 1U) << "bit " << bit;
    flip_bit(file, bit);
  }
}

TEST_F(VerifyTest, names_what_a_short_a_lost_and_a_foreign_file_cost) {
  TestWriter writer(path(), test_dataset());
  writer.write(test_step(1, 4, 4));
  cut("data-000000.00001", 100);
  std::filesystem::remove(path("data-000000.00002"));
  const HeaderPage old = encode_header({test_dataset(), {17, 3}});
  const auto file =
      storage::must_open(path("data-000000.00003"), {.intent = storage::Intent::kWrite});
  ASSERT_TRUE(file->write_at(old, 0));
  const auto report = verify(path());
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->findings.size(), 4U);
  EXPECT_TRUE(mentions(report->findings[0].error, "header")) << "it is short, too";
  EXPECT_EQ(report->findings[1].error.kind(), ErrorClass::kShortFile);
  EXPECT_EQ(report->findings[2].error.kind(), ErrorClass::kNotFound);
  EXPECT_EQ(report->findings[3].error.kind(), ErrorClass::kDamage);
  EXPECT_TRUE(mentions(report->findings[3].error, "data-000017.00003"));
}

TEST_F(VerifyTest, names_parts_that_two_files_have) {
  TestStep given = test_step(1, 3, 2);
  given.blocks.push_back(given.blocks[0]);
  given.blocks.back().file = 1;
  TestWriter(path(), test_dataset()).write(given);
  const auto report = verify(path());
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->findings.size(), 1U);
  EXPECT_EQ(report->findings[0].field, "pressure");
  EXPECT_EQ(report->findings[0].key, 0U);
}

TEST_F(VerifyTest, names_an_empty_slot_only_where_there_are_data_that_nobody_is_writing) {
  TestWriter writer(path(), test_dataset());
  EXPECT_TRUE(verify(path())->findings.empty());
  writer.write(test_step(1, 4, 2));
  fill_with_zeros("commits", {kPageBytes, kPageBytes});
  const auto report = verify(path());
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->findings.size(), 1U);
  EXPECT_TRUE(mentions(report->findings[0].error, "slot 1"));
  EXPECT_TRUE(mentions(report->findings[0].error, "data-000000.00000"));
  // Of a first step that is being written there are indexes before it is published.
  std::ofstream(path("owner")) << "somebody";
  EXPECT_TRUE(verify(path())->findings.empty());
  std::filesystem::last_write_time(
      path("owner"), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(verify(path())->findings.size(), 1U);
}

TEST_F(VerifyTest, looks_at_one_step_and_can_be_cancelled) {
  TestWriter writer(path(), test_dataset());
  writer.write(test_step(1, 3, 1));
  writer.write(test_step(2, 3, 1));
  flip("data-000000.00000", kPageBytes + 1);
  EXPECT_TRUE(verify(path(), {.step = 2})->findings.empty());
  EXPECT_EQ(verify(path(), {.step = 1})->findings.size(), 1U);
  EXPECT_EQ(error_class(verify(path(), {.step = 3})), ErrorClass::kNotFound);
  EXPECT_EQ(error_class(verify(path(), {.progress = [](const auto&) { return false; }})),
            ErrorClass::kCancelled);
}

}  // namespace
}  // namespace forebay::format
