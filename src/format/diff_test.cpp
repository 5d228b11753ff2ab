// SPDX-License-Identifier: Apache-2.0
#include "format/diff.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "format/array_difference.hpp"
#include "format/dataset_testing.hpp"

namespace forebay::format {
namespace {

using DiffTest = DatasetTest;

TEST_F(DiffTest, copies_in_any_files_are_compared_by_checksums) {
  const auto left = write_and_open("a", test_step(1, 6, 1));
  const auto right = write_and_open("b", test_step(1, 6, 4));
  const auto report = diff(*left, *right);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->fields.empty());
  EXPECT_EQ(report->fields_compared, 2U);
  EXPECT_EQ(report->blocks_compared, 12U);
  EXPECT_EQ(report->blocks_matched_by_checksum, 12U);
}

TEST_F(DiffTest, other_datasets_and_steps_are_compared_by_values) {
  TestStep step = test_step(1, 6, 1);
  const auto left = write_and_open("a", step);
  step.step = 2;
  const auto right = write_and_open("b", step, {std::byte{77}});
  const auto report = diff(*left, *right);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->fields.empty());
  EXPECT_EQ(report->blocks_matched_by_checksum, 0U);
}

TEST_F(DiffTest, progress_is_reported_and_can_cancel) {
  const auto left = write_and_open("a", test_step(1, 6, 1));
  const auto right = write_and_open("b", test_step(1, 6, 4));
  ReadProgress last;
  const auto keep = [&](const ReadProgress& now) {
    last = now;
    return true;
  };
  ASSERT_TRUE(diff(*left, *right, {.progress = keep}));
  EXPECT_EQ(last.total_bytes, left->entry().raw_bytes);
  EXPECT_EQ(last.done_bytes, last.total_bytes);
  const auto report = diff(*left, *right, {.progress = [](const auto&) { return false; }});
  EXPECT_EQ(error_class(report), ErrorClass::kCancelled);
}

TEST_F(DiffTest, progress_is_reported_within_large_blocks) {
  constexpr std::uint64_t kBytes = 3 * kPieceBytes;
  for (const FieldKind kind : {FieldKind::kParts, FieldKind::kGlobal}) {
    TestStep step = test_step(1, 0, 1);
    TestBlock block = {.field = {.name = "u", .type = ElementType::kInt8, .kind = kind}};
    if (kind == FieldKind::kGlobal) {
      block.field.shape = {kBytes};
      block.start = {0};
    }
    block.shape = {kBytes};
    block.raw.resize(kBytes);
    step.blocks.push_back(block);
    const std::string name = kind == FieldKind::kParts ? "parts" : "global";
    const auto left = write_and_open(name + "1", step);
    step.blocks.back().raw.assign(kBytes, std::byte{1});
    const auto right = write_and_open(name + "2", step);
    int reports = 0;
    const auto cancel = [&](const ReadProgress& now) {
      reports += now.done_bytes > 0 ? 1 : 0;
      return reports < 2;
    };
    EXPECT_EQ(error_class(diff(*left, *right, {.progress = cancel})), ErrorClass::kCancelled);
    EXPECT_EQ(reports, 2);
    const auto report = diff(*left, *right);
    ASSERT_EQ(report->fields.size(), 1U);
    EXPECT_EQ(report->fields[0].blocks[0].elements, kBytes);
  }
}

TEST_F(DiffTest, different_values_are_reported_with_part_element_and_size) {
  TestStep step = test_step(1, 4, 2);
  const auto left = write_and_open("a", step);
  TestBlock& block = step.blocks[2 * 3];
  ASSERT_EQ(block.field.name, "pressure");
  double value = 0;
  std::memcpy(&value, block.raw.data() + 80, sizeof value);
  const double other = value + 0.5;
  std::memcpy(block.raw.data() + 80, &other, sizeof other);
  const auto right = write_and_open("b", step);
  const auto report = diff(*left, *right);
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->fields.size(), 1U);
  const FieldDifference& field = report->fields[0];
  EXPECT_EQ(field.name, "pressure");
  EXPECT_EQ(field.absolute_max, 0.5);
  EXPECT_DOUBLE_EQ(field.relative_max, 0.5 / other);
  ASSERT_EQ(field.blocks.size(), 1U);
  EXPECT_EQ(field.blocks[0].key, 3U);
  EXPECT_EQ(field.blocks[0].elements, 1U);
  EXPECT_EQ(field.blocks[0].first_element, 10U);
}

TEST_F(DiffTest, content_of_one_side_and_other_shapes_are_reported) {
  TestStep step = test_step(1, 3, 1);
  const auto left = write_and_open("a", step);
  std::erase_if(step.blocks, [](const TestBlock& block) { return block.part == 0; });
  for (TestBlock& block : step.blocks) {
    if (block.field.name != "velocity") continue;
    if (block.part == 2) block.shape = {3, block.shape[0]};
  }
  TestBlock extra = step.blocks[0];
  extra.field.name = "extra";
  step.blocks.push_back(extra);
  const auto right = write_and_open("b", step);
  const auto report = diff(*left, *right);
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_EQ(report->fields.size(), 3U);
  EXPECT_EQ(report->fields[0].kind, DifferenceKind::kOnlyRight);
  EXPECT_EQ(report->fields[1].blocks[0].kind, BlockDifference::Kind::kOnlyLeft);
  ASSERT_EQ(report->fields[2].blocks.size(), 2U);
  EXPECT_EQ(report->fields[2].blocks[1].kind, BlockDifference::Kind::kShape);
  EXPECT_EQ(diff(*right, *left)->fields[1].blocks[0].kind, BlockDifference::Kind::kOnlyRight);
}

TEST_F(DiffTest, duplicate_parts_are_damage_of_their_field_only) {
  TestStep twice = test_step(1, 3, 2);
  twice.blocks.push_back(twice.blocks[0]);
  twice.blocks.back().file = 1;
  const auto left = write_and_open("a", twice);
  const auto right = write_and_open("b", test_step(1, 3, 1));
  EXPECT_EQ(error_class(diff(*left, *right)), ErrorClass::kDamage);
  EXPECT_TRUE(diff(*left, *right, {.fields = {"velocity"}}));
}

TEST(DecodeElement, supports_every_type_and_byte_order) {
  const auto bytes = [](std::initializer_list<unsigned> values) {
    std::vector<std::byte> result;
    for (const unsigned value : values)
      result.push_back(static_cast<std::byte>(value));
    return result;
  };
  EXPECT_EQ(decode_element(ElementType::kInt8, ByteOrder::kLittle, bytes({0xfe})), -2.0);
  EXPECT_EQ(decode_element(ElementType::kBytes, ByteOrder::kLittle, bytes({0xfe})), 254.0);
  EXPECT_EQ(decode_element(ElementType::kUint16, ByteOrder::kBig, bytes({1, 2})), 258.0);
  EXPECT_EQ(decode_element(ElementType::kInt32, ByteOrder::kBig, bytes({255, 255, 255, 253})),
            -3.0);
  EXPECT_EQ(decode_element(ElementType::kFloat16, ByteOrder::kLittle, bytes({0x00, 0x3e})), 1.5);
  EXPECT_EQ(decode_element(ElementType::kFloat16, ByteOrder::kBig, bytes({0x80, 0x01})),
            -std::ldexp(1.0, -24));
  EXPECT_EQ(decode_element(ElementType::kFloat16, ByteOrder::kLittle, bytes({0xff, 0x7b})),
            65504.0);
  EXPECT_EQ(decode_element(ElementType::kFloat32, ByteOrder::kBig, bytes({0x3f, 0xc0, 0, 0})), 1.5);
  EXPECT_EQ(decode_element(ElementType::kComplex64, ByteOrder::kBig,
                           bytes({0x3f, 0xc0, 0, 0, 0xbf, 0x80, 0, 0})),
            std::complex<double>(1.5, -1));
}

TEST(CompareElements, number_against_nan_differs_by_infinity) {
  const double left[] = {1, NAN, NAN, -0.0};
  const double right[] = {1, 2, -NAN, 0.0};
  const auto difference =
      compare_elements(ElementType::kFloat64, ByteOrder::kLittle, std::as_bytes(std::span(left)),
                       std::as_bytes(std::span(right)));
  EXPECT_EQ(difference.elements, 3U);
  EXPECT_EQ(difference.first_element, 1U);
  EXPECT_EQ(difference.absolute_max, INFINITY);
}

template <class Number>
ArrayDifference compare_one(ElementType type, Number left, Number right) {
  const auto bytes = [](Number& number) { return std::as_bytes(std::span(&number, 1)); };
  const ArrayDifference difference =
      compare_elements(type, ByteOrder::kLittle, bytes(left), bytes(right));
  for (Number* number : {&left, &right})
    std::ranges::reverse(std::as_writable_bytes(std::span(number, 1)));
  EXPECT_EQ(compare_elements(type, ByteOrder::kBig, bytes(right), bytes(left)).absolute_max,
            difference.absolute_max);
  return difference;
}

TEST(CompareElements, large_integers_differ_exactly) {
  const double two_to_64 = std::ldexp(1.0, 64);
  const auto positive = compare_one(ElementType::kUint64, UINT64_MAX, UINT64_MAX - 1);
  EXPECT_EQ(positive.elements, 1U);
  EXPECT_EQ(positive.absolute_max, 1);
  EXPECT_EQ(positive.relative_max, 1 / two_to_64);
  EXPECT_EQ(compare_one(ElementType::kUint64, UINT64_MAX, std::uint64_t{0}).absolute_max,
            two_to_64);
  EXPECT_EQ(compare_one(ElementType::kInt64, INT64_MIN, INT64_MIN + 3).absolute_max, 3);
  EXPECT_EQ(compare_one(ElementType::kInt64, INT64_MAX, INT64_MAX - 1).absolute_max, 1);
  EXPECT_EQ(compare_one(ElementType::kInt64, std::int64_t{-1}, std::int64_t{1}).absolute_max, 2);
  const auto farthest = compare_one(ElementType::kInt64, INT64_MIN, INT64_MAX);
  EXPECT_EQ(farthest.absolute_max, two_to_64);
  EXPECT_EQ(farthest.relative_max, 2);
}

TEST(CompareElements, equal_infinities_and_zeros_do_not_differ) {
  const double left[] = {-0.0, INFINITY};
  const double right[] = {0.0, -INFINITY};
  EXPECT_EQ(compare_one(ElementType::kFloat64, left[0], right[0]).absolute_max, 0);
  EXPECT_EQ(compare_one(ElementType::kFloat64, left[1], right[1]).absolute_max, INFINITY);
  const std::complex<float> one[] = {{INFINITY, 0.0F}};
  const std::complex<float> other[] = {{INFINITY, -0.0F}};
  EXPECT_EQ(compare_elements(ElementType::kComplex64, ByteOrder::kLittle,
                             std::as_bytes(std::span(one)), std::as_bytes(std::span(other)))
                .absolute_max,
            0);
}

}  // namespace
}  // namespace forebay::format
