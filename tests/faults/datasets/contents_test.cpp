// SPDX-License-Identifier: Apache-2.0
// Unusual contents and owners: names in any script, parts without elements, a million parts in a
// file, flipped bits, a second program that requests to write.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/sanitizer.hpp"
#include "base/testing.hpp"
#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "dataset_checks.hpp"
#include "format/block_reader.hpp"
#include "format/verify.hpp"
#include "storage/file.hpp"
#include "test_contents.hpp"
#include "test_seeds.hpp"
#include "writer_process.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;

TEST(Contents, have_names_in_any_script_and_parts_without_elements) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lauf-длина-長さ.fb";
  const std::string field = "Geschwindigkeit µ/流速 \U0001F30A";
  {
    Runtime runtime;
    auto dataset = runtime.create_dataset(path);
    ASSERT_TRUE(dataset) << dataset.error().message();
    auto step = dataset->begin_step(1);
    ASSERT_TRUE(step) << step.error().message();
    const std::vector<double> values{1, 2, 3};
    EXPECT_TRUE(step->put(field, Part{0}, std::span(values)));
    EXPECT_TRUE(step->put(field, Part{1}, std::span(values).first(0)));
    EXPECT_TRUE(step->put("only empty", Part{7}, std::span(values).first(0), Shape{0}));
    const auto receipt = step->commit().wait();
    ASSERT_TRUE(receipt) << receipt.error().message();
  }
  const auto report = format::verify(path);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->findings.empty());
  EXPECT_EQ(report->blocks, 3U);
  const auto catalog = format::Catalog::open(path);
  ASSERT_TRUE(catalog) << catalog.error().message();
  const auto step = (*catalog)->step(1);
  ASSERT_TRUE(step) << step.error().message();
  format::BlockReader reader;
  for (const auto& [name, part, bytes] : {std::tuple(field, 0U, 24U), std::tuple(field, 1U, 0U),
                                          std::tuple(std::string("only empty"), 7U, 0U)}) {
    const auto place = (*step)->find_part(name, part);
    ASSERT_TRUE(place) << place.error().message();
    EXPECT_EQ(reader.read(**step, *place).value().size(), bytes);
  }
}

/// No reader could print or request a name that is not UTF-8.
TEST(Contents, with_invalid_field_names_are_rejected) {
  const TemporaryDirectory directory;
  Runtime runtime;
  auto dataset = runtime.create_dataset(directory / "run.fb");
  ASSERT_TRUE(dataset) << dataset.error().message();
  const std::vector<double> values{1};
  std::uint64_t number = 0;
  for (const std::string& name : {std::string("\xff\xfe"), std::string(), std::string("a\0b", 3)}) {
    auto step = dataset->begin_step(++number);
    ASSERT_TRUE(step) << step.error().message();
    const Status put = step->put(name, Part{0}, std::span(values));
    EXPECT_EQ(error_class(put), ErrorClass::kInvalidArgument) << testing::PrintToString(name);
    step->abort();
  }
}

/// Sanitizers run the same test with fewer parts.
constexpr std::uint64_t kManyParts = kThreadSanitizer || kAddressSanitizer ? 100'000 : 1'000'000;

TEST(Contents, of_a_million_parts_in_one_file_take_bounded_time) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.fb";
  {
    Runtime runtime;
    auto dataset = runtime.create_dataset(path, {.plan = plan_of(Strategy::kSerial)});
    ASSERT_TRUE(dataset) << dataset.error().message();
    auto step = dataset->begin_step(1);
    ASSERT_TRUE(step) << step.error().message();
    for (std::uint64_t part = 0; part < kManyParts; ++part) {
      const std::vector<double> values{static_cast<double>(part), 0.5};
      const Status put = step->put("tiny", Part{part}, std::span(values));
      ASSERT_TRUE(put) << put.error().message();
    }
    const auto receipt = step->commit().wait();
    ASSERT_TRUE(receipt) << receipt.error().message();
  }
  const auto report = format::verify(path);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->findings.empty());
  EXPECT_EQ(report->blocks, kManyParts);
  EXPECT_EQ(report->files, 1U);
  // No padding: 16 bytes each, less than 200 with its entry in the index.
  EXPECT_LT(fs::file_size(path + "/data-000000.00000"), kManyParts * 200);
}

class SecondWriter : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "run.fb";
};

TEST_F(SecondWriter, is_rejected_with_the_name_of_the_first_until_it_ends) {
  const TestContents contents(5);
  WriterProcess first({path_, contents.seed(), 1, 1'000'000});
  first.wait_for(1, std::chrono::seconds(60));
  ASSERT_FALSE(first.acknowledged().empty());
  Runtime runtime;
  const auto refused = runtime.create_dataset(path_, {.existing = ExistingDataset::kAppend});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorClass::kPermission) << refused.error().message();
  EXPECT_TRUE(message_contains(refused.error(), "dataset_writer")) << refused.error().message();
  EXPECT_TRUE(message_contains(refused.error(), std::to_string(first.id())))
      << refused.error().message();
  first.kill();
  auto dataset = runtime.create_dataset(path_, {.existing = ExistingDataset::kAppend});
  ASSERT_TRUE(dataset) << dataset.error().message();
  const std::uint64_t next = dataset->newest_step().value_or(0) + 1;
  EXPECT_GT(next, first.acknowledged().back());
  EXPECT_TRUE(write_step(runtime, *dataset, contents, next));
  EXPECT_TRUE(dataset->close());
  EXPECT_TRUE(is_intact(path_, contents, next));
}

/// As after this program was stopped for long enough to be presumed dead.
TEST_F(SecondWriter, that_took_the_lease_is_not_overwritten) {
  const TestContents contents(6);
  Runtime runtime;
  auto dataset = runtime.create_dataset(path_);
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_TRUE(write_step(runtime, *dataset, contents, 1));
  fs::remove(path_ + "/owner");
  WriterProcess second({path_, contents.seed(), 2, 1'000'000});
  second.wait_for(1, std::chrono::seconds(60));
  ASSERT_FALSE(second.acknowledged().empty());
  const auto late = write_step(runtime, *dataset, contents, 1'000'000);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorClass::kPermission) << late.error().message();
  EXPECT_TRUE(message_contains(late.error(), "dataset_writer")) << late.error().message();
  EXPECT_FALSE(dataset->close());
  second.kill();
  EXPECT_TRUE(is_intact(path_, contents, second.acknowledged().back()))
      << "the former holder must not remove files of the other";
}

/// A bit of one of the dataset's files.
struct Bit {
  std::string file;
  std::uint64_t number = 0;
};

/// A block that has bytes: its name in Errors, and the place of its bytes.
struct StoredBlock {
  std::string name;
  std::string field;
  std::string file;
  ByteRange bytes;

  bool has(const Bit& bit) const {
    return bit.file == file && bytes.contains(ByteRange{bit.number / 8, 1});
  }
};

std::vector<StoredBlock> stored_blocks(const std::string& path) {
  std::vector<StoredBlock> blocks;
  const auto catalog = format::Catalog::open(path).value();
  for (const format::StepEntry& entry : catalog->steps()) {
    const auto step = catalog->step(entry.step).value();
    for (const std::string_view field : {kParts, kGrid})
      for (const format::BlockLocation& place : step->blocks(field)) {
        const format::Block block = step->block(place);
        if (block.stored_bytes == 0) continue;
        blocks.push_back({step->describe(place),
                          std::string(field),
                          step->files()[place.file].path,
                          {block.offset, block.stored_bytes}});
      }
  }
  return blocks;
}

class FlippedBits : public testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr int kFlips = 40;
  static constexpr std::uint64_t kStep = 2;

  void SetUp() override {
    config_ = random_config(random_());
    config_.plan.retained_steps = 0;
    const Status written =
        comm::run_ranks({.count = config_.ranks}, [&](const auto& ranks) -> Status {
          Runtime runtime{comm::make_ranks(ranks)};
          auto dataset = runtime.create_dataset(path_, {.plan = config_.plan});
          if (!dataset) return failure(dataset.error());
          for (const std::uint64_t step : {std::uint64_t{1}, kStep}) {
            const auto receipt = write_step(runtime, *dataset, contents_, step);
            if (!receipt) return failure(receipt.error());
          }
          return dataset->close();
        });
    ASSERT_TRUE(written) << written.error().message();
    ASSERT_TRUE(is_intact(path_, contents_, kStep));
    for (const auto& entry : fs::directory_iterator(path_))
      files_.push_back(entry.path().string());
    std::ranges::sort(files_);
    blocks_ = stored_blocks(path_);
  }
  Bit random_bit() {
    const std::string& file = files_[random_() % files_.size()];
    return {file, random_() % (fs::file_size(file) * 8)};
  }
  /// A bit of a block of the grid, which has few bytes.
  Bit random_bit_of_grid() {
    std::vector<StoredBlock> grid;
    std::ranges::copy_if(blocks_, std::back_inserter(grid),
                         [](const StoredBlock& block) { return block.field == kGrid; });
    const StoredBlock& block = grid.at(random_() % grid.size());
    return {block.file, block.bytes.offset * 8 + random_() % (block.bytes.size * 8)};
  }
  static void flip(const Bit& bit) {
    const auto file = storage::open_file(bit.file, {.intent = storage::Intent::kWrite});
    ASSERT_TRUE(file);
    std::byte byte{};
    ASSERT_TRUE((*file)->read_at({&byte, 1}, bit.number / 8));
    byte ^= std::byte{1} << (bit.number % 8);
    ASSERT_TRUE((*file)->write_at({&byte, 1}, bit.number / 8));
  }

  /// Checks the result of reading a block whose values are known. True if reading failed, with an
  /// Error that names the file. Values other than the written ones fail the test.
  template <class T>
  static bool is_lost(const Result<std::vector<T>>& values,
                      const std::vector<T>& given,
                      const std::string& file) {
    if (!values) {
      EXPECT_EQ(values.error().path(), file) << values.error().message();
      return true;
    }
    EXPECT_EQ(*values, given) << "damaged data was returned";
    return false;
  }
  /// The text of Errors, as "step 2, field density, part 3".
  static std::string describe_block(std::uint64_t step,
                                    std::string_view field,
                                    const std::string& rest) {
    return "step " + std::to_string(step) + ", field " + std::string(field) + ", " + rest;
  }
  /// The names of all blocks that cannot be read.
  std::vector<std::string> lost_blocks(const Bit& bit) {
    auto reader = CatalogReader::open(path_);
    if (!reader) {
      ADD_FAILURE() << reader.error().message();
      return {};
    }
    std::vector<std::string> damaged;
    for (const std::uint64_t step : reader->steps()) {
      add_lost_parts(*reader, step, bit, damaged);
      add_lost_blocks_of_grid(*reader, step, bit, damaged);
    }
    return damaged;
  }
  void add_lost_parts(CatalogReader& reader,
                      std::uint64_t step,
                      const Bit& bit,
                      std::vector<std::string>& damaged) {
    for (std::uint64_t part = 0; part < contents_.parts(); ++part) {
      const auto values = reader.part(step, part);
      if (!is_lost(values, contents_.part(step, part), bit.file)) continue;
      damaged.push_back(describe_block(step, kParts, "part " + std::to_string(part)));
      EXPECT_TRUE(message_contains(values.error(), damaged.back())) << values.error().message();
    }
  }
  /// Reads the blocks in which it was written, and the whole grid.
  void add_lost_blocks_of_grid(CatalogReader& reader,
                               std::uint64_t step,
                               const Bit& bit,
                               std::vector<std::string>& damaged) {
    const auto shape = contents_.grid_shape();
    bool is_any_lost = false;
    for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
      const GridBlock block = contents_.share_of(rank, config_.ranks, step % 3);
      if (block.elements() == 0) continue;
      const auto values = reader.grid(step, block);
      if (!is_lost(values, contents_.grid(step, block), bit.file)) continue;
      is_any_lost = true;
      const auto& at = block.start;
      const std::uint64_t first = (at[0] * shape[1] + at[1]) * shape[2] + at[2];
      damaged.push_back(describe_block(step, kGrid, "block at element " + std::to_string(first)));
      EXPECT_TRUE(message_contains(values.error(), "step " + std::to_string(step)));
    }
    const GridBlock whole = contents_.share_of(0, 1, 0);
    EXPECT_EQ(is_lost(reader.grid(step, whole), contents_.grid(step, whole), bit.file),
              is_any_lost);
  }

  void flip_and_verify(const Bit& bit) {
    const auto hit = std::ranges::find_if(blocks_, [&](const auto& b) { return b.has(bit); });
    flip(bit);
    const auto report = format::verify(path_);
    ASSERT_TRUE(report) << report.error().message();
    const std::vector<std::string> damaged = lost_blocks(bit);
    for (const format::Finding& finding : report->findings) {
      EXPECT_EQ(finding.error.path(), bit.file) << finding.error.message();
      EXPECT_TRUE(hit == blocks_.end() || message_contains(finding.error, hit->name));
    }
    if (hit != blocks_.end()) {
      EXPECT_EQ(damaged, std::vector{hit->name});
      EXPECT_EQ(report->findings.size(), 1U);
    }
    // Else the bit is in an index: the content of its file is lost, or nothing.
    if (report->findings.empty()) {
      EXPECT_EQ(damaged, std::vector<std::string>()) << "verify found nothing";
    }
    found_ += report->findings.empty() ? 0 : 1;
    flip(bit);
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "run.fb";
  const TestContents contents_{GetParam()};
  std::mt19937_64 random_{GetParam()};
  WriteConfig config_;
  std::vector<std::string> files_;
  std::vector<StoredBlock> blocks_;
  int found_ = 0;
};

TEST_P(FlippedBits, are_found_and_named_and_damage_nothing_else) {
  SCOPED_TRACE(config_.text());
  for (int i = 0; i < kFlips && !HasFailure(); ++i) {
    const Bit bit = i % 4 == 3 ? random_bit_of_grid() : random_bit();
    SCOPED_TRACE("bit " + std::to_string(bit.number) + " of " + bit.file);
    flip_and_verify(bit);
  }
  EXPECT_GT(found_, 0) << "no flipped bit was in use";
  EXPECT_TRUE(is_intact(path_, contents_, kStep));
}

INSTANTIATE_TEST_SUITE_P(Seeds, FlippedBits, testing::Range<std::uint64_t>(1, 9), seed_name);

}  // namespace
}  // namespace forebay::faults
