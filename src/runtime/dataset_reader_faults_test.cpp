// SPDX-License-Identifier: Apache-2.0
// Datasets that are damaged, or change while they are read: errors name the finding and its place,
// at once, and all other data is readable.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "base/descriptor_limit_testing.hpp"
#include "base/sanitizer.hpp"
#include "runtime/dataset_reader_testing.hpp"
#include "runtime/testing.hpp"
#include "write/lease.hpp"
#include "write/repair.hpp"

namespace forebay {
namespace {

using format::Codec;
using format::TestStep;
using format::TestWriter;

constexpr std::uint64_t kFaultyParts = 12;
constexpr std::uint32_t kFiles = 3;

class DatasetReaderFaults : public testing::Test {
 protected:
  std::string file(std::uint32_t number, std::uint64_t group = 0) const {
    return path_ + "/" + to_string(format::DataFileName{group, number});
  }
  static std::uint32_t file_of(std::uint64_t part) {
    return static_cast<std::uint32_t>((part * 7 + 3) % kFiles);
  }
  /// Reads all parts. Expects an Error where `lost(part)` is true, and passes it to `check`.
  void expect_lost_parts(const StepReader& step,
                         const std::function<bool(std::uint64_t)>& lost,
                         const std::function<void(std::uint64_t, const Error&)>& check) {
    for (std::uint64_t part = 0; part < kFaultyParts; ++part) {
      if (!lost(part)) {
        expect_part(step, Part{part});
        continue;
      }
      std::vector<double> values(elements_in(part));
      const auto got = step.read("speed", Part{part}, std::span(values)).wait();
      ASSERT_FALSE(got) << "part " << part;
      check(part, got.error());
    }
  }
  /// The offset of the middle of a part's bytes, found by their content.
  std::uint64_t find_middle(const StepReader& step, std::uint64_t part) const {
    const std::vector<double> values = values_of(step.number(), part, elements_in(part));
    std::ifstream stream(file(file_of(part)), std::ios::binary);
    std::string content(std::filesystem::file_size(file(file_of(part))), '\0');
    stream.read(content.data(), static_cast<std::streamsize>(content.size()));
    const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * 8);
    // Blocks begin at multiples of 8, and their first values are unique. Sanitizers check every
    // compared byte, so comparing more would take minutes.
    constexpr std::size_t kComparedBytes = 8 * sizeof(double);
    std::size_t at = 0;
    while (at + raw.size() <= content.size() &&
           std::memcmp(&content[at], raw.data(), kComparedBytes) != 0)
      at += sizeof(double);
    EXPECT_LE(at + raw.size(), content.size());
    return at + raw.size() / 2;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "run.fb";
  TestWriter writer_{path_, format::test_dataset_id()};
  Runtime runtime_{test_options()};
};

TEST_F(DatasetReaderFaults, flipped_bit_of_data_fails_only_its_part) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  std::uint64_t at = 0;
  {
    const StepReader step = open_newest_step(runtime_, path_);
    at = find_middle(step, 3);
  }
  flip_bit(file(file_of(3)), at);
  const StepReader step = open_newest_step(runtime_, path_);
  expect_lost_parts(
      step, [](std::uint64_t part) { return part == 3; },
      [&](std::uint64_t, const Error& error) {
        EXPECT_EQ(error.kind(), ErrorClass::kDamage);
        EXPECT_EQ(error.path(), file(file_of(3)));
        EXPECT_TRUE(message_contains(error, "step 4, field speed, part 3")) << error.message();
        EXPECT_TRUE(message_contains(error, "piece 1")) << error.message();
        EXPECT_LE(error.offset_bytes().value_or(UINT64_MAX), at);
      });
  // Its other pieces are intact.
  std::vector<double> first(1000);
  EXPECT_TRUE(step.read("speed", Part{3}, 0, std::span(first)).wait());
  EXPECT_EQ(first, values_of(4, 3, 1000));
}

TEST_F(DatasetReaderFaults, without_verification_damage_is_read) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  const std::uint64_t at = [&] { return find_middle(open_newest_step(runtime_, path_), 3); }();
  flip_bit(file(file_of(3)), at);
  const StepReader step = open_newest_step(runtime_, path_, {.verification = Verification::kOff});
  std::vector<double> values(elements_in(3));
  ASSERT_TRUE(step.read("speed", Part{3}, std::span(values)).wait());
  const std::vector<double> written = values_of(4, 3, values.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    different += std::memcmp(&values[i], &written[i], sizeof(double)) != 0 ? 1 : 0;
  EXPECT_EQ(different, 1U);
}

TEST_F(DatasetReaderFaults, flipped_bit_of_an_index_fails_only_its_file) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  flip_bit(file(1), std::filesystem::file_size(file(1)) - format::kPageBytes + 300);
  const StepReader step = open_newest_step(runtime_, path_);
  ASSERT_EQ(step.errors().size(), 1U);
  expect_lost_parts(
      step, [](std::uint64_t part) { return file_of(part) == 1; },
      [&](std::uint64_t part, const Error& error) {
        EXPECT_EQ(error.kind(), ErrorClass::kDamage);
        EXPECT_EQ(error.path(), file(1));
        EXPECT_TRUE(message_contains(error, "part " + std::to_string(part))) << error.message();
        EXPECT_TRUE(message_contains(error, "step 4")) << error.message();
      });
}

TEST_F(DatasetReaderFaults, errors_name_a_part_that_two_files_have) {
  format::TestStep twice = large_step(4, kFaultyParts, kFiles);
  twice.blocks.push_back(*std::ranges::find(twice.blocks, 3U, &format::TestBlock::part));
  twice.blocks.back().file = (file_of(3) + 1) % kFiles;
  writer_.write(twice);
  const StepReader step = open_newest_step(runtime_, path_);
  ASSERT_EQ(step.errors().size(), 1U);
  const Error& damage = step.errors().front();
  EXPECT_EQ(damage.kind(), ErrorClass::kDamage);
  for (const std::string& text : {std::string("field speed, part 3"), file(0), file(1)})
    EXPECT_TRUE(message_contains(damage, text)) << damage.message();
}

TEST_F(DatasetReaderFaults, lost_file_fails_only_its_parts) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  std::filesystem::remove(file(2));
  const StepReader step = open_newest_step(runtime_, path_);
  expect_lost_parts(
      step, [](std::uint64_t part) { return file_of(part) == 2; },
      [&](std::uint64_t, const Error& error) {
        EXPECT_EQ(error.kind(), ErrorClass::kNotFound);
        EXPECT_EQ(error.path(), file(2));
      });
}

const DatasetOptions kAppending{.existing = ExistingDataset::kAppend};

class DamagedSlotTest : public DatasetReaderFaults {
 protected:
  void SetUp() override {
    for (const std::uint64_t step : {4U, 5U, 6U})
      writer_.write({.step = step,
                     .files = 1,
                     .blocks = {{.field = {.name = "p", .type = ElementType::kFloat64},
                                 .part = 0,
                                 .start = {},
                                 .shape = {1},
                                 .raw = to_bytes(std::vector<double>{1.5})}}});
    flip_bit(path_ + "/commits", 3 % 2 * format::kPageBytes + 40);
  }
  bool has_warned() const {
    const auto lines = log_.lines();
    return lines.size() == 1 && lines[0].find("commits") != std::string::npos;
  }

  WarningLog log_;
};

// Before, the previous step was read and the damaged slot overwritten silently.
TEST_F(DamagedSlotTest, damage_is_reported_and_no_published_step_is_lost) {
  Runtime runtime({.log = &log_});
  {
    const auto stored = runtime.open_dataset(path_);
    ASSERT_TRUE(stored) << stored.error().message();
    EXPECT_EQ(stored->steps().back(), 5U);
    EXPECT_TRUE(has_warned());
  }
  const auto refused = runtime.create_dataset(path_, kAppending);
  ASSERT_EQ(error_class(refused), ErrorClass::kDamage);
  EXPECT_TRUE(message_contains(refused.error(), "step 6")) << refused.error().message();
  EXPECT_TRUE(message_contains(refused.error(), "forebay repair")) << refused.error().message();
  ASSERT_TRUE(write::repair(path_));
  EXPECT_TRUE(runtime.create_dataset(path_, kAppending));
  EXPECT_EQ(runtime.open_dataset(path_)->steps().back(), 6U);
}

TEST_F(DamagedSlotTest, after_a_killed_writer_writing_needs_a_repair) {
  format::LeaseHolder dead = write::current_process();
  ++dead.process_start;
  std::ofstream(path_ + "/owner") << format::encode_lease_holder(dead);
  Runtime runtime({.log = &log_});
  const auto refused = runtime.create_dataset(path_, kAppending);
  ASSERT_EQ(error_class(refused), ErrorClass::kDamage);
  EXPECT_TRUE(message_contains(refused.error(), "forebay repair")) << refused.error().message();
  EXPECT_TRUE(std::filesystem::exists(file(0, 2))) << "a receipt may refer to it";
  ASSERT_TRUE(write::repair(path_));
  EXPECT_TRUE(runtime.create_dataset(path_, kAppending));
  EXPECT_EQ(runtime.open_dataset(path_)->steps().back(), 6U);
}

// Before, the next holder listed the dropped steps again, whose files were gone.
TEST_F(DamagedSlotTest, after_dropped_steps_writing_needs_a_repair) {
  std::filesystem::resize_file(file(0, 2), format::kPageBytes);
  std::filesystem::remove(file(0, 0));
  Runtime runtime({.log = &log_});
  const auto refused = runtime.create_dataset(path_, kAppending);
  ASSERT_EQ(error_class(refused), ErrorClass::kDamage);
  EXPECT_TRUE(message_contains(refused.error(), "step 4 was dropped")) << refused.error().message();
  EXPECT_TRUE(message_contains(refused.error(), "forebay repair")) << refused.error().message();
  ASSERT_TRUE(write::repair(path_));
  EXPECT_TRUE(runtime.create_dataset(path_, kAppending));
  const auto stored = runtime.open_dataset(path_);
  ASSERT_TRUE(stored) << stored.error().message();
  ASSERT_EQ(stored->steps().size(), 1U);
  EXPECT_EQ(stored->steps().front(), 5U);
}

TEST_F(DamagedSlotTest, damage_of_an_incomplete_step_does_not_prevent_writing) {
  std::filesystem::resize_file(file(0, 2), format::kPageBytes);
  Runtime runtime({.log = &log_});
  const auto dataset = runtime.create_dataset(path_, kAppending);
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_TRUE(has_warned());
}

// Before, a share of the remaining parts looked like a share of all.
TEST_F(DatasetReaderFaults, parts_of_rank_fails_while_parts_may_be_lost) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  std::filesystem::remove(file(2));
  const StepReader step = open_newest_step(runtime_, path_);
  EXPECT_LT(step.parts("speed")->size(), kFaultyParts);
  const auto mine = step.parts_of_rank("speed", 0, 2);
  ASSERT_EQ(error_class(mine), ErrorClass::kNotFound);
  EXPECT_EQ(mine.error().path(), file(2));
  EXPECT_TRUE(mine.error().message().ends_with("the content of this one is unknown"))
      << mine.error().message();
}

TEST_F(DatasetReaderFaults, files_that_cannot_be_opened_now_are_not_lost) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  const auto dataset = runtime_.open_dataset(path_);
  ASSERT_TRUE(dataset) << dataset.error().message();
  {
    const ScopedDescriptorLimit few(1);
    const auto step = dataset->open_step(4);
    ASSERT_EQ(error_class(step), ErrorClass::kLimit);
    EXPECT_EQ(step.error().error_number(), EMFILE);
  }
  const auto step = dataset->open_step(4);
  ASSERT_TRUE(step) << step.error().message();
  expect_part(*step, Part{3});
}

TEST_F(DatasetReaderFaults, step_may_have_more_files_than_the_descriptor_limit) {
  constexpr std::uint32_t kMany = format::kOpenFilesMax + 10;
  format::TestStep many{.step = 4, .files = kMany};
  for (std::uint32_t part = 0; part < kMany; ++part)
    many.blocks.push_back({.field = {.name = "p", .type = ElementType::kFloat64},
                           .part = part,
                           .start = {},
                           .shape = {1},
                           .raw = to_bytes(std::vector<double>{static_cast<double>(part)}),
                           .file = part});
  writer_.write(many);
  const ScopedDescriptorLimit few(64);
  const StepReader step = open_newest_step(runtime_, path_);
  const auto parts = step.parts_of_rank("p", 0, 1);
  ASSERT_TRUE(parts) << parts.error().message();
  std::vector<double> values(kMany);
  const auto got = step.read("p", *parts, std::span(values)).wait();
  ASSERT_TRUE(got) << got.error().message();
  for (std::uint32_t part = 0; part < kMany; ++part)
    EXPECT_EQ(values[part], part);
}

TEST_F(DatasetReaderFaults, file_truncated_while_open_is_a_short_file) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  const StepReader step = open_newest_step(runtime_, path_);
  const std::uint64_t at = find_middle(step, 3);
  std::filesystem::resize_file(file(file_of(3)), at);
  std::vector<double> values(elements_in(3));
  const auto got = step.read("speed", Part{3}, std::span(values)).wait();
  ASSERT_EQ(error_class(got), ErrorClass::kShortFile);
  EXPECT_TRUE(message_contains(got.error(), "field speed, part 3")) << got.error().message();
  EXPECT_EQ(got.error().path(), file(file_of(3)));
}

TEST_F(DatasetReaderFaults, truncated_file_fails_only_its_parts) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  const std::uint64_t middle = find_middle(open_newest_step(runtime_, path_), 3);
  const std::uint64_t size = std::filesystem::file_size(file(file_of(3)));
  // Cuts the end of the index, all of it, and data as well.
  for (const std::uint64_t cut :
       {size - format::kPageBytes + 300, size - format::kPageBytes, middle}) {
    SCOPED_TRACE("cut at " + std::to_string(cut));
    std::filesystem::resize_file(file(file_of(3)), cut);
    const StepReader step = open_newest_step(runtime_, path_);
    expect_lost_parts(
        step, [](std::uint64_t part) { return file_of(part) == file_of(3); },
        [&](std::uint64_t part, const Error& error) {
          EXPECT_EQ(error.path(), file(file_of(3)));
          EXPECT_TRUE(message_contains(error, "step 4")) << error.message();
          EXPECT_TRUE(message_contains(error, "part " + std::to_string(part))) << error.message();
        });
  }
}

TEST_F(DatasetReaderFaults, damaged_header_does_not_prevent_reading) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  for (std::uint32_t number = 0; number < kFiles; ++number)
    flip_bit(file(number), 20);
  const StepReader step = open_newest_step(runtime_, path_);
  for (std::uint64_t part = 0; part < kFaultyParts; ++part)
    expect_part(step, Part{part});
}

TEST_F(DatasetReaderFaults, torn_slot_leaves_the_previous_step) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  writer_.write(large_step(5, kFaultyParts, kFiles));
  const std::uint64_t newest_slot = writer_.state().generation % 2;
  flip_bit(path_ + "/commits", newest_slot * format::kPageBytes + 200);
  const auto dataset = runtime_.open_dataset(path_);
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_EQ(dataset->newest_step(), 4U);
  EXPECT_EQ(dataset->errors().size(), 1U);
  expect_part(dataset->open_step(4).value(), Part{3});
  flip_bit(path_ + "/commits", (1 - newest_slot) * format::kPageBytes + 200);
  EXPECT_EQ(error_class(runtime_.open_dataset(path_)), ErrorClass::kDamage);
}

TEST_F(DatasetReaderFaults, every_byte_of_a_compressed_dataset_is_verified) {
  std::mt19937_64 random(read::Random().seed());
  TestStep written = large_step(4, kFaultyParts, 1);
  written.codec = Codec::kZstd;
  writer_.write(written);
  const std::uint64_t size = std::filesystem::file_size(file(0));
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t at = random() % size;
    flip_bit(file(0), at);
    const auto step = runtime_.open_dataset(path_).value().open_step(4);
    ASSERT_TRUE(step) << step.error().message();
    for (std::uint64_t part = 0; part < kFaultyParts; ++part) {
      std::vector<double> values(elements_in(part));
      const auto got = step->read("speed", Part{part}, std::span(values)).wait();
      ASSERT_TRUE(!got || values == values_of(4, part, values.size())) << "flipped at " << at;
      if (!got) {
        EXPECT_EQ(got.error().kind(), ErrorClass::kDamage) << got.error().message();
      }
    }
    flip_bit(file(0), at);
  }
}

TEST_F(DatasetReaderFaults, lost_file_is_never_replaced_by_the_fill) {
  TestStep written{.step = 1, .files = 2};
  for (std::uint32_t i = 0; i < 2; ++i)
    written.blocks.push_back({.field = {.name = "u",
                                        .type = ElementType::kFloat64,
                                        .kind = format::FieldKind::kGlobal,
                                        .dimensions = 1,
                                        .shape = {8}},
                              .start = {4 * i},
                              .shape = {4},
                              .raw = to_bytes(std::vector<double>(4, i)),
                              .file = i});
  writer_.write(written);
  std::filesystem::remove(file(1));
  const StepReader step = open_newest_step(runtime_, path_);
  std::vector<double> values(8);
  EXPECT_EQ(
      error_class(step.read("u", {.start = {0}, .count = {8}}, std::span(values), 1.0).wait()),
      ErrorClass::kNotFound);
  EXPECT_TRUE(step.read("u", {.start = {0}, .count = {4}}, std::span(values).first(4)).wait());
}

TEST_F(DatasetReaderFaults, later_publication_and_dropping_do_not_affect_open_steps) {
  for (std::uint64_t step = 1; step <= 3; ++step)
    writer_.write(large_step(step, kFaultyParts, kFiles));
  const auto dataset = runtime_.open_dataset(path_);
  const StepReader first = dataset->open_step(1).value();
  writer_.write(large_step(4, kFaultyParts, kFiles));
  writer_.drop_before(3);
  EXPECT_EQ(dataset->newest_step(), 3U);
  EXPECT_EQ(error_class(dataset->open_step(4)), ErrorClass::kNotFound);
  expect_part(first, Part{3});  // its files are unchanged
  for (std::uint32_t number = 0; number < kFiles; ++number)
    std::filesystem::remove(file(number, 1));
  const auto dropped = dataset->open_step(2);
  ASSERT_EQ(error_class(dropped), ErrorClass::kClosed);
  EXPECT_TRUE(message_contains(dropped.error(), "step 2 was dropped")) << dropped.error().message();
  EXPECT_EQ(runtime_.open_dataset(path_)->newest_step(), 4U);
}

TEST_F(DatasetReaderFaults, bytes_of_a_recycled_file_are_never_data) {
  writer_.write(large_step(1, kFaultyParts, kFiles));
  const StepReader first = open_newest_step(runtime_, path_);
  writer_.write(large_step(2, kFaultyParts, kFiles));
  writer_.drop_before(2);
  // The files of step 1 are overwritten in place with the bytes of step 2 at the same offsets.
  for (std::uint32_t number = 0; number < kFiles; ++number) {
    std::ifstream from(file(number, 1), std::ios::binary);
    std::fstream to(file(number, 0), std::ios::in | std::ios::out | std::ios::binary);
    to << from.rdbuf();
  }
  for (std::uint64_t part = 0; part < kFaultyParts; ++part) {
    if (elements_in(part) == 0) continue;
    std::vector<double> values(elements_in(part));
    const auto got = first.read("speed", Part{part}, std::span(values)).wait();
    ASSERT_EQ(error_class(got), ErrorClass::kClosed);
    EXPECT_TRUE(message_contains(got.error(), "step 1 was dropped")) << got.error().message();
  }
}

}  // namespace
}  // namespace forebay
