// SPDX-License-Identifier: Apache-2.0
// diff() of global arrays in any blocks.
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "format/dataset_testing.hpp"
#include "format/diff.hpp"

namespace forebay::format {
namespace {

using CompareArraysTest = DatasetTest;

/// An array of 6 x 4 numbers, each equal to its position, in blocks of this number of rows and
/// columns.
TestStep grid(std::uint64_t rows, std::uint64_t columns) {
  TestStep step = {.step = 1};
  for (std::uint64_t row = 0; row < 6; row += rows) {
    for (std::uint64_t column = 0; column < 4; column += columns) {
      TestBlock block = {.field = {.name = "grid",
                                   .type = ElementType::kInt32,
                                   .kind = FieldKind::kGlobal,
                                   .dimensions = 2,
                                   .shape = {6, 4}},
                         .start = {row, column},
                         .shape = {rows, columns}};
      for (std::uint64_t i = 0; i < rows * columns; ++i) {
        const auto value =
            static_cast<std::int32_t>((row + i / columns) * 4 + column + i % columns);
        const auto* bytes = reinterpret_cast<const std::byte*>(&value);
        block.raw.insert(block.raw.end(), bytes, bytes + sizeof value);
      }
      step.blocks.push_back(std::move(block));
    }
  }
  return step;
}

TEST_F(CompareArraysTest, arrays_in_different_blocks_are_equal) {
  const auto left = write_and_open("a", grid(2, 4));
  const auto right = write_and_open("b", grid(3, 2));
  const auto report = diff(*left, *right);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->fields.empty());
  TestStep changed = grid(3, 2);
  changed.blocks[3].raw[4] ^= std::byte{64};  // row 3, column 3: 15
  const auto other = diff(*left, *write_and_open("c", changed));
  ASSERT_TRUE(other) << other.error().message();
  ASSERT_EQ(other->fields.size(), 1U);
  EXPECT_EQ(other->fields[0].absolute_max, 64);
  EXPECT_EQ(other->fields[0].blocks[0].key, 8U);
  EXPECT_EQ(other->fields[0].blocks[0].first_element, 7U);
  changed.blocks.pop_back();
  changed.blocks.pop_back();
  const auto less = diff(*left, *write_and_open("d", changed));
  ASSERT_TRUE(less) << less.error().message();
  EXPECT_EQ(less->fields[0].differing_blocks, 2U);
}

TEST_F(CompareArraysTest, first_of_several_differences_in_a_box_is_reported) {
  const auto left = write_and_open("a", grid(6, 4));
  TestStep changed = grid(6, 2);
  changed.blocks[0].raw[2 * 2 * 4] ^= std::byte{1};  // row 2, column 0
  changed.blocks[1].raw[0] ^= std::byte{1};          // row 0, column 2
  std::swap(changed.blocks[0], changed.blocks[1]);
  for (int order = 0; order < 2; ++order) {
    const auto report = diff(*left, *write_and_open("b" + std::to_string(order), changed));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->fields[0].blocks[0].elements, 2U);
    EXPECT_EQ(report->fields[0].blocks[0].first_element, 2U);
    std::swap(changed.blocks[0], changed.blocks[1]);
  }
}

// One block would have hidden the other, and the elements that only the other has.
TEST_F(CompareArraysTest, overlapping_blocks_of_one_side_are_damage) {
  const auto left = write_and_open("a", grid(3, 4));
  TestStep overlapping = grid(3, 2);
  TestBlock& block = overlapping.blocks[1];  // columns 1 and 2 of the upper rows, not 2 and 3
  block.start[1] = 1;
  const auto right = write_and_open("b", overlapping);
  for (const auto& report : {diff(*left, *right), diff(*right, *left), diff(*right, *right)}) {
    ASSERT_EQ(error_class(report), ErrorClass::kDamage);
    for (const char* text : {"compare", "block at element 0", "block at element 1"})
      EXPECT_TRUE(message_contains(report.error(), text)) << report.error().message();
  }
}

using Reported = std::vector<
    std::tuple<BlockDifference::Kind, std::uint64_t, std::uint64_t, std::uint64_t, double>>;

Reported reported_differences(const DiffReport& report) {
  Reported reported;
  for (const FieldDifference& field : report.fields)
    for (const BlockDifference& block : field.blocks)
      reported.emplace_back(block.kind, block.key, block.elements, block.first_element,
                            block.absolute_max);
  return reported;
}

TEST_F(CompareArraysTest, right_block_is_read_once_per_batch) {
  TestStep columns = grid(6, 1);
  columns.blocks[2].raw[4 * 4] ^= std::byte{64};  // row 4, column 2
  const auto left = write_and_open("a", grid(1, 4));
  const auto right = write_and_open("b", columns);
  const Reported expected = {{BlockDifference::Kind::kValues, 16, 1, 2, 64}};
  const auto at_once = diff(*left, *right);
  ASSERT_TRUE(at_once) << at_once.error().message();
  EXPECT_EQ(reported_differences(*at_once), expected);
  EXPECT_EQ(at_once->blocks_read, 6 + 4U);
  const auto singly = diff(*left, *right, {.batch_bytes = 1});
  ASSERT_TRUE(singly) << singly.error().message();
  EXPECT_EQ(reported_differences(*singly), expected);
  EXPECT_EQ(singly->blocks_read, 6 + 6 * 4U);
  std::uint64_t batch_bytes = 1;
  auto report = singly;
  while (report->blocks_read != 6 + 2 * 4U && batch_bytes < 1_MiB)
    report = diff(*left, *right, {.batch_bytes = batch_bytes *= 2});
  EXPECT_EQ(report->blocks_read, 6 + 2 * 4U);
  EXPECT_EQ(reported_differences(*report), expected);
}

/// An array of 12 x 10 numbers in blocks of random sizes, some of which are missing.
TestStep random_grid(std::mt19937_64& random) {
  const Coordinates shape = {12, 10};
  TestStep step = {.step = 1};
  std::vector<std::vector<std::uint64_t>> edges;
  for (const std::uint64_t extent : shape) {
    std::set<std::uint64_t> cuts = {0, extent};
    for (std::uint64_t i = random() % 5; i > 0; --i)
      cuts.insert(random() % extent);
    edges.emplace_back(cuts.begin(), cuts.end());
  }
  for (std::size_t i = 1; i < edges[0].size(); ++i)
    for (std::size_t k = 1; k < edges[1].size(); ++k) {
      const Box box = {{edges[0][i - 1], edges[1][k - 1]},
                       {edges[0][i] - edges[0][i - 1], edges[1][k] - edges[1][k - 1]}};
      if (!step.blocks.empty() && random() % 6 == 0) continue;
      TestBlock block = {.field = {.name = "grid",
                                   .type = ElementType::kInt32,
                                   .kind = FieldKind::kGlobal,
                                   .dimensions = 2,
                                   .shape = shape},
                         .start = box.start,
                         .shape = box.count};
      for (std::uint64_t row = 0; row < box.count[0]; ++row)
        for (std::uint64_t column = 0; column < box.count[1]; ++column) {
          const auto value =
              static_cast<std::int32_t>((box.start[0] + row) * shape[1] + box.start[1] + column);
          const auto bytes = std::as_bytes(std::span(&value, 1));
          block.raw.insert(block.raw.end(), bytes.begin(), bytes.end());
        }
      step.blocks.push_back(std::move(block));
    }
  return step;
}

/// Each element of a step, by its number.
std::map<std::uint64_t, std::int32_t> elements_of(const TestStep& step) {
  std::map<std::uint64_t, std::int32_t> elements;
  for (const TestBlock& block : step.blocks)
    for (std::uint64_t i = 0; i * sizeof(std::int32_t) < block.raw.size(); ++i) {
      const std::uint64_t row = block.start[0] + i / block.shape[1];
      const std::uint64_t column = block.start[1] + i % block.shape[1];
      std::memcpy(&elements[row * block.field.shape[1] + column],
                  block.raw.data() + i * sizeof(std::int32_t), sizeof(std::int32_t));
    }
  return elements;
}

/// Expected differences of two steps, from a comparison of each element.
Reported expected_differences(const TestStep& left, const TestStep& right) {
  using Kind = BlockDifference::Kind;
  Reported reported;
  for (const bool is_left : {true, false}) {
    const auto other = elements_of(is_left ? right : left);
    for (const TestBlock& block : is_left ? left.blocks : right.blocks) {
      BlockDifference found = {.key = block.start[0] * block.field.shape[1] + block.start[1]};
      std::uint64_t on_both = 0;
      std::uint64_t number = 0;
      const auto elements = elements_of({.blocks = {block}});
      for (const auto& [element, value] : elements) {
        const std::uint64_t at = number++;
        if (!other.contains(element)) continue;
        ++on_both;
        if (other.at(element) == value) continue;
        if (found.elements++ == 0) found.first_element = at;
        found.absolute_max =
            std::max(found.absolute_max, std::abs(double(value) - double(other.at(element))));
      }
      const bool is_whole = on_both == elements.size();
      if (is_left && (found.elements > 0 || !is_whole)) {
        const Kind kind = on_both == 0          ? Kind::kOnlyLeft
                          : found.elements == 0 ? Kind::kShape
                                                : Kind::kValues;
        reported.emplace_back(kind, found.key, found.elements, found.first_element,
                              found.absolute_max);
      } else if (!is_left && !is_whole) {
        reported.emplace_back(Kind::kOnlyRight, found.key, 0, 0, 0);
      }
    }
  }
  return reported;
}

TEST_F(CompareArraysTest, arrays_in_any_blocks_agree_with_comparing_each_element) {
  std::mt19937_64 random(19);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const TestStep left = random_grid(random);
    TestStep right = random_grid(random);
    for (TestBlock& block : right.blocks)
      for (std::byte& byte : block.raw)
        if (random() % 50 == 0) byte ^= std::byte{2};
    const auto one = write_and_open("a", left);
    const auto other =
        write_and_open("b", right, {std::byte{static_cast<std::uint8_t>(round % 2)}});
    const std::uint64_t total_bytes = one->entry().raw_bytes;
    for (const std::uint64_t batch_bytes :
         {std::uint64_t{1}, std::uint64_t{700}, kDiffBatchBytes}) {
      ReadProgress last;
      const auto keep = [&](const ReadProgress& now) {
        EXPECT_GE(now.done_bytes, last.done_bytes);
        last = now;
        return true;
      };
      const auto report = diff(*one, *other, {.progress = keep, .batch_bytes = batch_bytes});
      ASSERT_TRUE(report) << report.error().message();
      ASSERT_EQ(reported_differences(*report), expected_differences(left, right));
      EXPECT_EQ(last.done_bytes, total_bytes);
    }
  }
}

TEST_F(CompareArraysTest, diff_of_arrays_can_be_cancelled_within_a_batch) {
  const auto left = write_and_open("a", grid(1, 4));
  const auto right = write_and_open("b", grid(6, 1));
  for (int calls = 0;; ++calls) {
    int left_calls = calls;
    const auto report =
        diff(*left, *right, {.progress = [&](const auto&) { return left_calls-- > 0; }});
    if (report) {
      EXPECT_GT(calls, 6 + 4);
      break;
    }
    EXPECT_EQ(error_class(report), ErrorClass::kCancelled);
  }
}

}  // namespace
}  // namespace forebay::format
