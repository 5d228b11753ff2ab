// SPDX-License-Identifier: Apache-2.0
// Unusual contents and holders: names in any script, parts without elements, a million parts in a
// file, bits that flip, a second program that wants to write.
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
#include "cargo.hpp"
#include "comm/in_process.hpp"
#include "format/block_reader.hpp"
#include "format/verify.hpp"
#include "how_often.hpp"
#include "reading.hpp"
#include "storage/file.hpp"
#include "writer_process.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;

TEST(Contents, have_names_in_any_script_and_parts_without_elements) {
  const TemporaryFolder folder;
  const std::string path = folder / "lauf-длина-長さ.fb";
  const std::string field = "Geschwindigkeit µ/流速 \U0001F30A";
  {
    Runtime runtime;
    auto dataset = runtime.dataset(path);
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

/// A name that is not UTF-8 would be one that no reader can print or ask for.
TEST(Contents, whose_field_has_no_proper_name_are_refused) {
  const TemporaryFolder folder;
  Runtime runtime;
  auto dataset = runtime.dataset(folder / "run.fb");
  ASSERT_TRUE(dataset) << dataset.error().message();
  const std::vector<double> values{1};
  std::uint64_t number = 0;
  for (const std::string& name : {std::string("\xff\xfe"), std::string(), std::string("a\0b", 3)}) {
    auto step = dataset->begin_step(++number);
    ASSERT_TRUE(step) << step.error().message();
    const Status put = step->put(name, Part{0}, std::span(values));
    EXPECT_EQ(error_class(put), ErrorClass::kInvalidArgument) << testing::PrintToString(name);
    step->abandon();
  }
}

/// A sanitizer checks the same with fewer.
constexpr std::uint64_t kManyParts = kThreadSanitizer || kAddressSanitizer ? 100'000 : 1'000'000;

TEST(Contents, of_a_million_parts_in_one_file_take_bounded_time) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.fb";
  {
    Runtime runtime;
    auto dataset = runtime.dataset(path, Strategy::kSerial);
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
  // No padding: 16 bytes of each, less than 200 with its entry in the index.
  EXPECT_LT(fs::file_size(path + "/data-000000.00000"), kManyParts * 200);
}

class SecondWriter : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.fb";
};

TEST_F(SecondWriter, is_refused_with_the_name_of_the_first_until_that_is_gone) {
  const Cargo cargo(5);
  WriterProcess first({path_, cargo.seed(), 1, 1'000'000});
  first.wait_for(1, std::chrono::seconds(60));
  ASSERT_FALSE(first.promised().empty());
  Runtime runtime;
  const auto refused = runtime.dataset(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorClass::kPermission) << refused.error().message();
  EXPECT_TRUE(mentions(refused.error(), "dataset_writer")) << refused.error().message();
  EXPECT_TRUE(mentions(refused.error(), std::to_string(first.id()))) << refused.error().message();
  first.kill();
  auto dataset = runtime.dataset(path_);
  ASSERT_TRUE(dataset) << dataset.error().message();
  const std::uint64_t next = dataset->newest_step().value_or(0) + 1;
  EXPECT_GT(next, first.promised().back());
  EXPECT_TRUE(write_step(runtime, *dataset, cargo, next));
  EXPECT_TRUE(dataset->close());
  EXPECT_TRUE(is_whole(path_, cargo, next));
}

/// As after a stop of this program that was so long that others took it for dead.
TEST_F(SecondWriter, that_has_taken_the_lease_is_not_written_over) {
  const Cargo cargo(6);
  Runtime runtime;
  auto dataset = runtime.dataset(path_);
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_TRUE(write_step(runtime, *dataset, cargo, 1));
  fs::remove(path_ + "/owner");
  WriterProcess second({path_, cargo.seed(), 2, 1'000'000});
  second.wait_for(1, std::chrono::seconds(60));
  ASSERT_FALSE(second.promised().empty());
  const auto late = write_step(runtime, *dataset, cargo, 1'000'000);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorClass::kPermission) << late.error().message();
  EXPECT_TRUE(mentions(late.error(), "dataset_writer")) << late.error().message();
  EXPECT_FALSE(dataset->close());
  second.kill();
  EXPECT_TRUE(is_whole(path_, cargo, second.promised().back()))
      << "the late one has removed nothing of the other's";
}

/// One of the bits that all steps together have.
struct Bit {
  std::string file;
  std::uint64_t number = 0;
};

/// A block that has bytes, as Errors call it, and where these lie.
struct Stored {
  std::string name;
  std::string field;
  std::string file;
  ByteRange bytes;

  bool has(const Bit& bit) const {
    return bit.file == file && bytes.contains(ByteRange{bit.number / 8, 1});
  }
};

std::vector<Stored> stored_blocks(const std::string& path) {
  std::vector<Stored> blocks;
  const auto catalog = format::Catalog::open(path).value();
  for (const format::StepEntry& entry : catalog->steps()) {
    const auto step = catalog->step(entry.step).value();
    for (const std::string_view field : {kParts, kGrid})
      for (const format::BlockPlace& place : step->blocks(field)) {
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
    way_ = way_of(random_());
    way_.plan.keep = 0;
    const Status written = comm::run_ranks({.count = way_.ranks}, [&](const auto& ranks) -> Status {
      Runtime runtime{Ranks(ranks)};
      auto dataset = runtime.dataset(path_, way_.plan);
      if (!dataset) return failure(dataset.error());
      for (const std::uint64_t step : {std::uint64_t{1}, kStep}) {
        const auto receipt = write_step(runtime, *dataset, cargo_, step);
        if (!receipt) return failure(receipt.error());
      }
      return dataset->close();
    });
    ASSERT_TRUE(written) << written.error().message();
    ASSERT_TRUE(is_whole(path_, cargo_, kStep));
    for (const auto& entry : fs::directory_iterator(path_))
      files_.push_back(entry.path().string());
    std::ranges::sort(files_);
    blocks_ = stored_blocks(path_);
  }
  Bit random_bit() {
    const std::string& file = files_[random_() % files_.size()];
    return {file, random_() % (fs::file_size(file) * 8)};
  }
  /// One of a block of the grid, which has few bytes.
  Bit random_bit_of_grid() {
    std::vector<Stored> grid;
    std::ranges::copy_if(blocks_, std::back_inserter(grid),
                         [](const Stored& block) { return block.field == kGrid; });
    const Stored& block = grid.at(random_() % grid.size());
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

  /// Reads a block of which the values are known. True if that fails, by an Error that names the
  /// file; other values than it was given fail the test.
  template <class T>
  static bool is_lost(const Result<std::vector<T>>& values,
                      const std::vector<T>& given,
                      const std::string& file) {
    if (!values) {
      EXPECT_EQ(values.error().path(), file) << values.error().message();
      return true;
    }
    EXPECT_EQ(*values, given) << "damage came back as data";
    return false;
  }
  /// "step 2, field density, part 3", as Errors say it.
  static std::string name_of_block(std::uint64_t step,
                                   std::string_view field,
                                   const std::string& rest) {
    return "step " + std::to_string(step) + ", field " + std::string(field) + ", " + rest;
  }
  /// The names of all blocks that cannot be read.
  std::vector<std::string> lost_blocks(const Bit& bit) {
    auto reader = StepReader::open(path_);
    if (!reader) {
      ADD_FAILURE() << reader.error().message();
      return {};
    }
    std::vector<std::string> lost;
    for (const std::uint64_t step : reader->steps()) {
      add_lost_parts(*reader, step, bit, lost);
      add_lost_blocks_of_grid(*reader, step, bit, lost);
    }
    return lost;
  }
  void add_lost_parts(StepReader& reader,
                      std::uint64_t step,
                      const Bit& bit,
                      std::vector<std::string>& lost) {
    for (std::uint64_t part = 0; part < cargo_.parts(); ++part) {
      const auto values = reader.part(step, part);
      if (!is_lost(values, cargo_.part(step, part), bit.file)) continue;
      lost.push_back(name_of_block(step, kParts, "part " + std::to_string(part)));
      EXPECT_TRUE(mentions(values.error(), lost.back())) << values.error().message();
    }
  }
  /// By the blocks in which it was written, and as a whole.
  void add_lost_blocks_of_grid(StepReader& reader,
                               std::uint64_t step,
                               const Bit& bit,
                               std::vector<std::string>& lost) {
    const auto shape = cargo_.grid_shape();
    bool is_any_lost = false;
    for (std::uint32_t rank = 0; rank < way_.ranks; ++rank) {
      const GridBlock block = cargo_.share_of(rank, way_.ranks, step % 3);
      if (block.elements() == 0) continue;
      const auto values = reader.grid(step, block);
      if (!is_lost(values, cargo_.grid(step, block), bit.file)) continue;
      is_any_lost = true;
      const auto& at = block.start;
      const std::uint64_t first = (at[0] * shape[1] + at[1]) * shape[2] + at[2];
      lost.push_back(name_of_block(step, kGrid, "block at element " + std::to_string(first)));
      EXPECT_TRUE(mentions(values.error(), "step " + std::to_string(step)));
    }
    const GridBlock whole = cargo_.share_of(0, 1, 0);
    EXPECT_EQ(is_lost(reader.grid(step, whole), cargo_.grid(step, whole), bit.file), is_any_lost);
  }

  void flip_and_look(const Bit& bit) {
    const auto hit = std::ranges::find_if(blocks_, [&](const auto& b) { return b.has(bit); });
    flip(bit);
    const auto report = format::verify(path_);
    ASSERT_TRUE(report) << report.error().message();
    const std::vector<std::string> lost = lost_blocks(bit);
    for (const format::Finding& finding : report->findings) {
      EXPECT_EQ(finding.error.path(), bit.file) << finding.error.message();
      EXPECT_TRUE(hit == blocks_.end() || mentions(finding.error, hit->name));
    }
    if (hit != blocks_.end()) {
      EXPECT_EQ(lost, std::vector{hit->name});
      EXPECT_EQ(report->findings.size(), 1U);
    }
    // Else it is in an index, which costs what is in its file, or costs nothing.
    if (report->findings.empty()) {
      EXPECT_EQ(lost, std::vector<std::string>()) << "verify found nothing";
    }
    found_ += report->findings.empty() ? 0 : 1;
    flip(bit);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.fb";
  const Cargo cargo_{GetParam()};
  std::mt19937_64 random_{GetParam()};
  Way way_;
  std::vector<std::string> files_;
  std::vector<Stored> blocks_;
  int found_ = 0;
};

TEST_P(FlippedBits, are_found_and_named_and_cost_nothing_else) {
  SCOPED_TRACE(way_.text());
  for (int i = 0; i < kFlips && !HasFailure(); ++i) {
    const Bit bit = i % 4 == 3 ? random_bit_of_grid() : random_bit();
    SCOPED_TRACE("bit " + std::to_string(bit.number) + " of " + bit.file);
    flip_and_look(bit);
  }
  EXPECT_GT(found_, 0) << "no bit was one that means something";
  EXPECT_TRUE(is_whole(path_, cargo_, kStep));
}

INSTANTIATE_TEST_SUITE_P(Seeds, FlippedBits, testing::Range<std::uint64_t>(1, 9), seed_name);

}  // namespace
}  // namespace forebay::faults
