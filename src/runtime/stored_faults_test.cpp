// SPDX-License-Identifier: Apache-2.0
// Datasets that were damaged, or changed while they were read: errors say what and where, at once,
// and everything else is read.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "base/few_files_testing.hpp"
#include "base/sanitizer.hpp"
#include "runtime/stored_testing.hpp"
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

class StoredFaults : public testing::Test {
 protected:
  std::string file(std::uint32_t number, std::uint64_t group = 0) const {
    return path_ + "/" + text_of(format::DataFileName{group, number});
  }
  static std::uint32_t file_of(std::uint64_t part) {
    return static_cast<std::uint32_t>((part * 7 + 3) % kFiles);
  }
  /// Reads all parts; `lost` tells for which an Error is expected, and gets it.
  void expect_lost(const StoredStep& step,
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
  std::uint64_t middle_of(const StoredStep& step, std::uint64_t part) const {
    const std::vector<double> values = values_of(step.number(), part, elements_in(part));
    std::ifstream stream(file(file_of(part)), std::ios::binary);
    std::string all(std::filesystem::file_size(file(file_of(part))), '\0');
    stream.read(all.data(), static_cast<std::streamsize>(all.size()));
    const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * 8);
    // Blocks begin at multiples of 8, and their first values are theirs alone. Sanitizers look at
    // all that might be compared: more would take minutes.
    constexpr std::size_t kEnough = 8 * sizeof(double);
    std::size_t at = 0;
    while (at + raw.size() <= all.size() && std::memcmp(&all[at], raw.data(), kEnough) != 0)
      at += sizeof(double);
    EXPECT_LE(at + raw.size(), all.size());
    return at + raw.size() / 2;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "run.fb";
  TestWriter writer_{path_, format::test_dataset()};
  Runtime runtime_{tested()};
};

TEST_F(StoredFaults, a_flipped_bit_of_data_costs_its_part_and_no_other) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  std::uint64_t at = 0;
  {
    const StoredStep step = newest_of(runtime_, path_);
    at = middle_of(step, 3);
  }
  flip(file(file_of(3)), at);
  const StoredStep step = newest_of(runtime_, path_);
  expect_lost(
      step, [](std::uint64_t part) { return part == 3; },
      [&](std::uint64_t, const Error& error) {
        EXPECT_EQ(error.kind(), ErrorClass::kDamage);
        EXPECT_EQ(error.path(), file(file_of(3)));
        EXPECT_TRUE(mentions(error, "step 4, field speed, part 3")) << error.message();
        EXPECT_TRUE(mentions(error, "piece 1")) << error.message();
        EXPECT_LE(error.offset_bytes().value_or(UINT64_MAX), at);
      });
  // Its other pieces are whole.
  std::vector<double> first(1000);
  EXPECT_TRUE(step.read("speed", Part{3}, 0, std::span(first)).wait());
  EXPECT_EQ(first, values_of(4, 3, 1000));
}

TEST_F(StoredFaults, without_verification_damage_is_read) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  const std::uint64_t at = [&] { return middle_of(newest_of(runtime_, path_), 3); }();
  flip(file(file_of(3)), at);
  const StoredStep step = newest_of(runtime_, path_, {.verification = Verification::kOff});
  std::vector<double> values(elements_in(3));
  ASSERT_TRUE(step.read("speed", Part{3}, std::span(values)).wait());
  const std::vector<double> written = values_of(4, 3, values.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    different += std::memcmp(&values[i], &written[i], sizeof(double)) != 0 ? 1 : 0;
  EXPECT_EQ(different, 1U);
}

TEST_F(StoredFaults, a_flipped_bit_of_an_index_costs_its_file) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  flip(file(1), std::filesystem::file_size(file(1)) - format::kPageBytes + 300);
  const StoredStep step = newest_of(runtime_, path_);
  ASSERT_EQ(step.damages().size(), 1U);
  expect_lost(
      step, [](std::uint64_t part) { return file_of(part) == 1; },
      [&](std::uint64_t part, const Error& error) {
        EXPECT_EQ(error.kind(), ErrorClass::kDamage);
        EXPECT_EQ(error.path(), file(1));
        EXPECT_TRUE(mentions(error, "part " + std::to_string(part))) << error.message();
        EXPECT_TRUE(mentions(error, "step 4")) << error.message();
      });
}

TEST_F(StoredFaults, damages_names_a_part_that_two_files_have) {
  format::TestStep twice = large_step(4, kFaultyParts, kFiles);
  twice.blocks.push_back(*std::ranges::find(twice.blocks, 3U, &format::TestBlock::part));
  twice.blocks.back().file = (file_of(3) + 1) % kFiles;
  writer_.write(twice);
  const StoredStep step = newest_of(runtime_, path_);
  ASSERT_EQ(step.damages().size(), 1U);
  const Error& damage = step.damages().front();
  EXPECT_EQ(damage.kind(), ErrorClass::kDamage);
  for (const std::string& text : {std::string("field speed, part 3"), file(0), file(1)})
    EXPECT_TRUE(mentions(damage, text)) << damage.message();
}

TEST_F(StoredFaults, a_lost_file_costs_what_was_in_it) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  std::filesystem::remove(file(2));
  const StoredStep step = newest_of(runtime_, path_);
  expect_lost(
      step, [](std::uint64_t part) { return file_of(part) == 2; },
      [&](std::uint64_t, const Error& error) {
        EXPECT_EQ(error.kind(), ErrorClass::kNotFound);
        EXPECT_EQ(error.path(), file(2));
      });
}

class DamagedSlot : public StoredFaults {
 protected:
  void SetUp() override {
    for (const std::uint64_t step : {4U, 5U, 6U})
      writer_.write({.step = step,
                     .files = 1,
                     .blocks = {{.field = {.name = "p", .type = ElementType::kFloat64},
                                 .part = 0,
                                 .start = {},
                                 .shape = {1},
                                 .raw = raw_of(std::vector<double>{1.5})}}});
    flip(path_ + "/commits", 3 % 2 * format::kPageBytes + 40);
  }
  bool has_warned() const {
    const auto lines = log_.lines();
    return lines.size() == 1 && lines[0].find("commits") != std::string::npos;
  }

  Warnings log_;
};

// The step before was read, and the damaged slot written over, without a word.
TEST_F(DamagedSlot, is_told_and_costs_no_step_that_was_closed_well) {
  Runtime runtime({.log = &log_});
  {
    const auto stored = runtime.open_dataset(path_);
    ASSERT_TRUE(stored) << stored.error().message();
    EXPECT_EQ(stored->steps().back(), 5U);
    EXPECT_TRUE(has_warned());
  }
  const auto refused = runtime.dataset(path_);
  ASSERT_EQ(error_class(refused), ErrorClass::kDamage);
  EXPECT_TRUE(mentions(refused.error(), "step 6")) << refused.error().message();
  EXPECT_TRUE(mentions(refused.error(), "forebay repair")) << refused.error().message();
  ASSERT_TRUE(write::repair(path_));
  EXPECT_TRUE(runtime.dataset(path_));
  EXPECT_EQ(runtime.open_dataset(path_)->steps().back(), 6U);
}

TEST_F(DamagedSlot, after_a_killed_writer_refuses_writing_until_repaired) {
  format::Owner dead = write::this_process();
  ++dead.process_start;
  std::ofstream(path_ + "/owner") << format::encode_owner(dead);
  Runtime runtime({.log = &log_});
  const auto refused = runtime.dataset(path_);
  ASSERT_EQ(error_class(refused), ErrorClass::kDamage);
  EXPECT_TRUE(mentions(refused.error(), "forebay repair")) << refused.error().message();
  EXPECT_TRUE(std::filesystem::exists(file(0, 2))) << "a receipt may name it";
  ASSERT_TRUE(write::repair(path_));
  EXPECT_TRUE(runtime.dataset(path_));
  EXPECT_EQ(runtime.open_dataset(path_)->steps().back(), 6U);
}

// The next writer named the dropped steps again, whose files are gone.
TEST_F(DamagedSlot, that_dropped_steps_refuses_writing_until_repaired) {
  std::filesystem::resize_file(file(0, 2), format::kPageBytes);
  std::filesystem::remove(file(0, 0));
  Runtime runtime({.log = &log_});
  const auto refused = runtime.dataset(path_);
  ASSERT_EQ(error_class(refused), ErrorClass::kDamage);
  EXPECT_TRUE(mentions(refused.error(), "step 4 was dropped")) << refused.error().message();
  EXPECT_TRUE(mentions(refused.error(), "forebay repair")) << refused.error().message();
  ASSERT_TRUE(write::repair(path_));
  EXPECT_TRUE(runtime.dataset(path_));
  const auto stored = runtime.open_dataset(path_);
  ASSERT_TRUE(stored) << stored.error().message();
  ASSERT_EQ(stored->steps().size(), 1U);
  EXPECT_EQ(stored->steps().front(), 5U);
}

TEST_F(DamagedSlot, of_a_step_that_is_not_whole_hinders_nobody) {
  std::filesystem::resize_file(file(0, 2), format::kPageBytes);
  Runtime runtime({.log = &log_});
  const auto dataset = runtime.dataset(path_);
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_TRUE(has_warned());
}

// A share of the parts that are left looked like a share of all.
TEST_F(StoredFaults, parts_are_not_shared_out_while_some_may_be_lost) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  std::filesystem::remove(file(2));
  const StoredStep step = newest_of(runtime_, path_);
  EXPECT_LT(step.parts("speed")->size(), kFaultyParts);
  const auto mine = step.parts_of_rank("speed", 0, 2);
  ASSERT_EQ(error_class(mine), ErrorClass::kNotFound);
  EXPECT_EQ(mine.error().path(), file(2));
  EXPECT_TRUE(mine.error().message().ends_with("what this one has cannot be known"))
      << mine.error().message();
}

TEST_F(StoredFaults, files_that_cannot_be_opened_for_now_are_not_lost) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  const auto dataset = runtime_.open_dataset(path_);
  ASSERT_TRUE(dataset) << dataset.error().message();
  {
    const FewFiles few(1);
    const auto step = dataset->step(4);
    ASSERT_EQ(error_class(step), ErrorClass::kLimit);
    EXPECT_EQ(step.error().error_number(), EMFILE);
  }
  const auto step = dataset->step(4);
  ASSERT_TRUE(step) << step.error().message();
  expect_part(*step, Part{3});
}

TEST_F(StoredFaults, a_step_may_have_more_files_than_a_process_may_open) {
  constexpr std::uint32_t kMany = format::kFilesKeptOpenMax + 10;
  format::TestStep many{.step = 4, .files = kMany};
  for (std::uint32_t part = 0; part < kMany; ++part)
    many.blocks.push_back({.field = {.name = "p", .type = ElementType::kFloat64},
                           .part = part,
                           .start = {},
                           .shape = {1},
                           .raw = raw_of(std::vector<double>{static_cast<double>(part)}),
                           .file = part});
  writer_.write(many);
  const FewFiles few(64);
  const StoredStep step = newest_of(runtime_, path_);
  const auto parts = step.parts_of_rank("p", 0, 1);
  ASSERT_TRUE(parts) << parts.error().message();
  std::vector<double> values(kMany);
  const auto got = step.read("p", *parts, std::span(values)).wait();
  ASSERT_TRUE(got) << got.error().message();
  for (std::uint32_t part = 0; part < kMany; ++part)
    EXPECT_EQ(values[part], part);
}

TEST_F(StoredFaults, a_file_that_is_cut_while_it_is_open_is_short) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  const StoredStep step = newest_of(runtime_, path_);
  const std::uint64_t at = middle_of(step, 3);
  std::filesystem::resize_file(file(file_of(3)), at);
  std::vector<double> values(elements_in(3));
  const auto got = step.read("speed", Part{3}, std::span(values)).wait();
  ASSERT_EQ(error_class(got), ErrorClass::kShortFile);
  EXPECT_TRUE(mentions(got.error(), "field speed, part 3")) << got.error().message();
  EXPECT_EQ(got.error().path(), file(file_of(3)));
}

TEST_F(StoredFaults, a_file_that_was_cut_costs_what_was_in_it) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  const std::uint64_t middle = middle_of(newest_of(runtime_, path_), 3);
  const std::uint64_t size = std::filesystem::file_size(file(file_of(3)));
  // The tail of the index, all of it, and data besides.
  for (const std::uint64_t cut :
       {size - format::kPageBytes + 300, size - format::kPageBytes, middle}) {
    SCOPED_TRACE("cut at " + std::to_string(cut));
    std::filesystem::resize_file(file(file_of(3)), cut);
    const StoredStep step = newest_of(runtime_, path_);
    expect_lost(
        step, [](std::uint64_t part) { return file_of(part) == file_of(3); },
        [&](std::uint64_t part, const Error& error) {
          EXPECT_EQ(error.path(), file(file_of(3)));
          EXPECT_TRUE(mentions(error, "step 4")) << error.message();
          EXPECT_TRUE(mentions(error, "part " + std::to_string(part))) << error.message();
        });
  }
}

TEST_F(StoredFaults, a_damaged_header_keeps_nobody_from_reading) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  for (std::uint32_t number = 0; number < kFiles; ++number)
    flip(file(number), 20);
  const StoredStep step = newest_of(runtime_, path_);
  for (std::uint64_t part = 0; part < kFaultyParts; ++part)
    expect_part(step, Part{part});
}

TEST_F(StoredFaults, a_torn_slot_leaves_the_step_before) {
  writer_.write(large_step(4, kFaultyParts, kFiles));
  writer_.write(large_step(5, kFaultyParts, kFiles));
  const std::uint64_t newest_slot = writer_.state().generation % 2;
  flip(path_ + "/commits", newest_slot * format::kPageBytes + 200);
  const auto dataset = runtime_.open_dataset(path_);
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_EQ(dataset->newest_step(), 4U);
  EXPECT_EQ(dataset->damages().size(), 1U);
  expect_part(dataset->step(4).value(), Part{3});
  flip(path_ + "/commits", (1 - newest_slot) * format::kPageBytes + 200);
  EXPECT_EQ(error_class(runtime_.open_dataset(path_)), ErrorClass::kDamage);
}

TEST_F(StoredFaults, every_byte_of_a_compressed_dataset_is_guarded) {
  std::mt19937_64 random(read::Random().seed());
  TestStep written = large_step(4, kFaultyParts, 1);
  written.codec = Codec::kZstd;
  writer_.write(written);
  const std::uint64_t size = std::filesystem::file_size(file(0));
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t at = random() % size;
    flip(file(0), at);
    const auto step = runtime_.open_dataset(path_).value().step(4);
    ASSERT_TRUE(step) << step.error().message();
    for (std::uint64_t part = 0; part < kFaultyParts; ++part) {
      std::vector<double> values(elements_in(part));
      const auto got = step->read("speed", Part{part}, std::span(values)).wait();
      ASSERT_TRUE(!got || values == values_of(4, part, values.size())) << "flipped at " << at;
      if (!got) {
        EXPECT_EQ(got.error().kind(), ErrorClass::kDamage) << got.error().message();
      }
    }
    flip(file(0), at);
  }
}

TEST_F(StoredFaults, a_lost_file_is_never_filled_in) {
  TestStep written{.step = 1, .files = 2};
  for (std::uint32_t i = 0; i < 2; ++i)
    written.blocks.push_back({.field = {.name = "u",
                                        .type = ElementType::kFloat64,
                                        .kind = format::FieldKind::kGlobal,
                                        .dimensions = 1,
                                        .shape = {8}},
                              .start = {4 * i},
                              .shape = {4},
                              .raw = raw_of(std::vector<double>(4, i)),
                              .file = i});
  writer_.write(written);
  std::filesystem::remove(file(1));
  const StoredStep step = newest_of(runtime_, path_);
  std::vector<double> values(8);
  EXPECT_EQ(
      error_class(step.read("u", {.start = {0}, .count = {8}}, std::span(values), 1.0).wait()),
      ErrorClass::kNotFound);
  EXPECT_TRUE(step.read("u", {.start = {0}, .count = {4}}, std::span(values).first(4)).wait());
}

TEST_F(StoredFaults, steps_that_are_published_or_dropped_meanwhile_change_nothing_that_is_open) {
  for (std::uint64_t step = 1; step <= 3; ++step)
    writer_.write(large_step(step, kFaultyParts, kFiles));
  const auto dataset = runtime_.open_dataset(path_);
  const StoredStep first = dataset->step(1).value();
  writer_.write(large_step(4, kFaultyParts, kFiles));
  writer_.drop_before(3);
  EXPECT_EQ(dataset->newest_step(), 3U);
  EXPECT_EQ(error_class(dataset->step(4)), ErrorClass::kNotFound);
  expect_part(first, Part{3});  // its files are as they were
  for (std::uint32_t number = 0; number < kFiles; ++number)
    std::filesystem::remove(file(number, 1));
  const auto dropped = dataset->step(2);
  ASSERT_EQ(error_class(dropped), ErrorClass::kClosed);
  EXPECT_TRUE(mentions(dropped.error(), "step 2 was dropped")) << dropped.error().message();
  EXPECT_EQ(runtime_.open_dataset(path_)->newest_step(), 4U);
}

TEST_F(StoredFaults, bytes_of_a_recycled_file_are_never_data) {
  writer_.write(large_step(1, kFaultyParts, kFiles));
  const StoredStep first = newest_of(runtime_, path_);
  writer_.write(large_step(2, kFaultyParts, kFiles));
  writer_.drop_before(2);
  // The files of step 1 are overwritten in place, with what is at the same places of step 2.
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
    EXPECT_TRUE(mentions(got.error(), "step 1 was dropped")) << got.error().message();
  }
}

}  // namespace
}  // namespace forebay
