// SPDX-License-Identifier: Apache-2.0
// Values of attributes, their records, and datasets whose attributes are damaged or contradictory.
#include "format/attributes.hpp"

#include <array>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "format/dataset_testing.hpp"
#include "format/diff.hpp"
#include "format/repair.hpp"
#include "format/verify.hpp"

namespace forebay::format {
namespace {

using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

AttributeKey step_key(const std::string& name) { return {.name = name}; }
AttributeKey dataset_key(const std::string& name) {
  return {.scope = AttributeScope::kDataset, .name = name};
}
AttributeKey field_key(const std::string& field, const std::string& name) {
  return {.scope = AttributeScope::kField, .field = field, .name = name};
}

AttributeTable table_of(std::initializer_list<std::pair<AttributeKey, AttributeValue>> entries) {
  AttributeTable table;
  for (const auto& [key, value] : entries)
    EXPECT_TRUE(table.set(key, value));
  return table;
}

/// One attribute of each kind, scope and number of dimensions.
AttributeTable some_attributes() {
  AttributeTable table = table_of({
      {dataset_key("title"), "A run of \xc3\xbc"},
      {dataset_key("empty"), ""},
      {step_key("time"), 0.5},
      {step_key("labels"), Texts{"a", "", "bc"}},
      {step_key("none"), Texts{}},
      {step_key("matrix"), AttributeValue(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3})},
      {step_key("no numbers"), std::vector<std::int64_t>{}},
      {field_key("velocity", "units"), "m s-1"},
      {field_key("pressure", "units"), "Pa"},
  });
  for (std::uint8_t type = kElementTypeMin; type <= kElementTypeMax; ++type) {
    const auto element = static_cast<ElementType>(type);
    const std::vector<std::byte> bytes(3 * element_size(element), std::byte{type});
    EXPECT_TRUE(table.set(field_key("velocity", std::string(name_of(element))),
                          AttributeValue(element, {3}, bytes)));
  }
  return table;
}

TEST(AttributeValue, has_kind_type_and_shape_of_its_source) {
  EXPECT_EQ(AttributeValue("Pa").text(), "Pa");
  EXPECT_EQ(AttributeValue(std::string("Pa")), AttributeValue(std::string_view("Pa")));
  EXPECT_EQ(AttributeValue().text(), "");
  const AttributeValue list(Texts{"y", "x"});
  EXPECT_EQ(list.kind(), AttributeKind::kTexts);
  EXPECT_EQ(list.shape(), Shape{2});
  EXPECT_EQ(list.text(), "");
  const AttributeValue number(std::int32_t{7});
  EXPECT_EQ(number.kind(), AttributeKind::kNumbers);
  EXPECT_EQ(number.type(), ElementType::kInt32);
  EXPECT_TRUE(number.shape().empty());
  EXPECT_EQ(number.numbers<std::int32_t>(), std::vector<std::int32_t>{7});
  EXPECT_FALSE(number.numbers<std::int64_t>());
  const AttributeValue array(std::array{1.0, 2.0});
  EXPECT_EQ(array.shape(), Shape{2});
  EXPECT_EQ(array.numbers<double>(), (std::vector{1.0, 2.0}));
}

TEST(AttributeValue, differs_by_kind_type_and_shape) {
  EXPECT_NE(AttributeValue("a"), AttributeValue(Texts{"a"}));
  EXPECT_NE(AttributeValue(1), AttributeValue(1U));
  EXPECT_NE(AttributeValue(1), AttributeValue(std::array{1}));
  const std::vector<int> numbers{1, 2};
  EXPECT_NE(AttributeValue(numbers, {1, 2}), AttributeValue(numbers, {2, 1}));
  EXPECT_NE(hash_of(AttributeValue("a")), hash_of(AttributeValue(Texts{"a"})));
  EXPECT_NE(hash_of(AttributeValue(numbers, {1, 2})), hash_of(AttributeValue(numbers, {2, 1})));
  EXPECT_EQ(hash_of(AttributeValue(0.5)), hash_of(AttributeValue(0.5)));
}

TEST(AttributeValue, one_real_number_converts_to_a_double) {
  EXPECT_EQ(AttributeValue(0.5F).number(), 0.5);
  EXPECT_EQ(AttributeValue(std::uint8_t{200}).number(), 200);
  EXPECT_EQ(AttributeValue(std::array{3}).number(), 3);
  EXPECT_FALSE(AttributeValue(std::array{3, 4}).number());
  EXPECT_FALSE(AttributeValue("3").number());
  EXPECT_FALSE(AttributeValue(std::complex<double>(1, 2)).number());
}

TEST(AttributeValue, text_for_people_is_one_short_line) {
  EXPECT_EQ(AttributeValue("a\nb\x1b").to_text(), "a\\nb\\x1b");
  EXPECT_EQ(AttributeValue(Texts{"y", "x"}).to_text(), R"(["y", "x"])");
  EXPECT_EQ(AttributeValue(0.1F).to_text(), "0.1");
  EXPECT_EQ(AttributeValue(0.1).to_text(), "0.1");
  EXPECT_EQ(AttributeValue(std::numeric_limits<std::int64_t>::min()).to_text(),
            "-9223372036854775808");
  EXPECT_EQ(AttributeValue(UINT64_MAX).to_text(), "18446744073709551615");
  EXPECT_EQ(AttributeValue(std::complex<float>(1, -2)).to_text(), "(1, -2)");
  EXPECT_EQ(AttributeValue(std::array{1, 2}).to_text(), "[1, 2]");
  EXPECT_EQ(AttributeValue(std::vector<int>(17)).to_text(),
            "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ... 17 in all]");
}

TEST(AttributeTable, decodes_what_was_encoded) {
  const AttributeTable table = some_attributes();
  const auto bytes = table.encode();
  EXPECT_EQ(bytes.size(), table.encoded_bytes());
  const auto decoded = AttributeTable::decode(bytes, "run.fb/data-000000.00000", 8192);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->entries(), table.entries());
  EXPECT_EQ(decoded->encode(), bytes);
  EXPECT_TRUE(AttributeTable::decode({}, "", 0)->empty());
}

TEST(AttributeTable, last_value_replaces_earlier_ones) {
  AttributeTable table = table_of({{step_key("time"), 0.5}});
  ASSERT_TRUE(table.set(step_key("time"), "later"));
  EXPECT_EQ(table.entries().size(), 1U);
  EXPECT_EQ(table.encoded_bytes(), table.encode().size());
  ASSERT_TRUE(table.add_missing(table_of({{step_key("time"), 1}, {step_key("cycle"), 2}})));
  EXPECT_EQ(table.entries().at(step_key("time")), AttributeValue("later"));
  EXPECT_EQ(table.entries().at(step_key("cycle")), AttributeValue(2));
}

TEST(AttributeTable, attributes_are_listed_by_scope_and_field) {
  const AttributeMap all = some_attributes().entries();
  const auto units = list_attributes(all, AttributeScope::kField, "pressure");
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(units[0], (Attribute{"units", "Pa"}));
  const auto step = list_attributes(all, AttributeScope::kStep);
  EXPECT_EQ(step.size(), 5U);
  EXPECT_EQ(step[0].name, "labels");
  EXPECT_TRUE(list_attributes(all, AttributeScope::kField, "density").empty());
  ASSERT_NE(find_attribute(step, "time"), nullptr);
  EXPECT_EQ(find_attribute(step, "tim"), nullptr);
}

TEST(AttributeTable, invalid_names_and_values_are_refused) {
  const auto refusal = [](const AttributeKey& key, const AttributeValue& value) {
    AttributeTable table;
    const Status set = table.set(key, value);
    EXPECT_TRUE(table.empty());
    EXPECT_EQ(error_class(set), ErrorClass::kInvalidArgument);
    return set ? "" : set.error().message();
  };
  EXPECT_THAT(refusal(step_key(""), 1), HasSubstr("a name has 1 to 255 bytes"));
  EXPECT_THAT(refusal(step_key(std::string(256, 'a')), 1), HasSubstr("a name has"));
  EXPECT_THAT(refusal(step_key("a\n"), 1), HasSubstr("a name has"));
  EXPECT_THAT(refusal(step_key("\xff"), 1), HasSubstr("a name has"));
  EXPECT_THAT(refusal(field_key("", "units"), 1), HasSubstr("a name has"));
  EXPECT_THAT(refusal(step_key("t"), std::string("a\0b", 3)), HasSubstr("zero bytes"));
  EXPECT_THAT(refusal(step_key("t"), Texts{"a", "\xff"}), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal(step_key("t"), std::string(1_MiB + 1, 'a')),
              HasSubstr("at most 1 MiB, and this one has 1048577 bytes; put large arrays"));
  EXPECT_THAT(refusal(step_key("t"), Texts{std::string(1_MiB, 'a')}), HasSubstr("1048577"));
  const std::vector<double> numbers(6);
  EXPECT_THAT(refusal(step_key("t"), AttributeValue(numbers, {2, 2})),
              HasSubstr("set attribute t of the step: 48 bytes do not match its shape"));
  EXPECT_THAT(refusal(step_key("t"), AttributeValue(numbers, Shape(9, 1))), HasSubstr("8 dim"));
  EXPECT_THAT(refusal(step_key("t"), AttributeValue(numbers, {UINT64_MAX, UINT64_MAX})),
              HasSubstr("shape"));
  EXPECT_THAT(refusal(step_key("t"), AttributeValue(ElementType{15}, {}, {})),
              HasSubstr("element type"));
}

TEST(AttributeTable, limits_of_number_and_size_are_exact) {
  AttributeTable many;
  for (std::size_t i = 0; i < kAttributesMax; ++i)
    ASSERT_TRUE(many.set(step_key(std::to_string(i)), ""));
  EXPECT_EQ(error_class(many.set(step_key("one more"), "")), ErrorClass::kLimit);
  EXPECT_TRUE(many.set(step_key("0"), "replaced"));
  AttributeTable large;
  const std::string text(1_MiB - 24, 'a');  // a record of 1 MiB, with 16 bytes of numbers
  for (int i = 0; i < 16; ++i)
    ASSERT_TRUE(large.set(step_key("name-" + std::to_string(100 + i)), text));
  EXPECT_EQ(large.encoded_bytes(), kAttributeTableBytesMax);
  EXPECT_EQ(error_class(large.set(step_key("b"), "")), ErrorClass::kLimit);
  EXPECT_EQ(error_class(large.add_missing(table_of({{step_key("b"), ""}}))), ErrorClass::kLimit);
  EXPECT_EQ(large.encoded_bytes(), kAttributeTableBytesMax);
}

TEST(AttributeTable, each_wrong_byte_of_a_record_is_damage) {
  const auto bytes = table_of({{step_key("n"), 0.5}, {step_key("t"), "abc"}}).encode();
  ASSERT_EQ(bytes.size(), 56U);  // 16 + 8 + 1, and 16 + 3 + 1, in multiples of 8
  const auto damage = [&](std::size_t at, std::uint8_t value) {
    auto changed = bytes;
    changed[at] = std::byte{value};
    const auto decoded = AttributeTable::decode(changed, "data", 4096);
    EXPECT_EQ(error_class(decoded), ErrorClass::kDamage);
    return decoded ? "" : decoded.error().message();
  };
  EXPECT_THAT(damage(0, 3), HasSubstr("read attributes of data at offset 4096"));
  EXPECT_THAT(damage(0, 2), HasSubstr("a name has"));  // a field without a name
  EXPECT_THAT(damage(1, 3), HasSubstr("no known scope, kind"));
  EXPECT_THAT(damage(2, 15), HasSubstr("element type"));
  EXPECT_THAT(damage(3, 9), HasSubstr("no known scope, kind"));
  EXPECT_THAT(damage(3, 8), HasSubstr("has no end"));
  EXPECT_THAT(damage(4, 1), HasSubstr("names one"));
  EXPECT_THAT(damage(6, 0), HasSubstr("a name has"));
  EXPECT_THAT(damage(8, 7), HasSubstr("do not match its shape"));
  EXPECT_THAT(damage(15, 1), HasSubstr("no known scope, kind or size"));
  EXPECT_THAT(damage(24, 'u'), HasSubstr("do not rise"));
  EXPECT_THAT(damage(33, 1), HasSubstr("a list of texts has no end"));
  EXPECT_THAT(damage(34, 1), HasSubstr("a text has an element type"));
  EXPECT_THAT(damage(48, 0xff), HasSubstr("UTF-8"));
  for (const std::size_t size : {8U, 24U, 40U, 48U})
    EXPECT_EQ(error_class(AttributeTable::decode(std::span(bytes).first(size), "", 0)),
              ErrorClass::kDamage);
}

class AttributesTest : public DatasetTest {
 protected:
  static constexpr const char* kFile = "data-000000.00000";

  /// Step 1 in two files, of which file 0 has `attributes`.
  void write(const AttributeTable& attributes, std::map<std::uint32_t, AttributeTable> more = {}) {
    TestStep step = test_step(1, 3, 2);
    step.attributes = std::move(more);
    step.attributes[0] = attributes;
    TestWriter(path(), test_dataset_id()).write(step);
  }
  std::uint64_t attributes_offset() {
    return open()->step(1).value()->files()[0].index->header().attributes.offset;
  }
};

TEST_F(AttributesTest, attributes_of_all_files_are_merged) {
  write(some_attributes(), {{1, table_of({{step_key("time"), 0.5}, {step_key("other"), 1}})}});
  const auto step = open()->step(1).value();
  EXPECT_TRUE(step->errors().empty());
  AttributeMap expected = some_attributes().entries();
  expected.emplace(step_key("other"), 1);
  EXPECT_EQ(step->attributes(), expected);
  EXPECT_TRUE(verify(path())->findings.empty());
}

TEST_F(AttributesTest, contradiction_of_files_is_reported_and_the_first_value_read) {
  write(table_of({{step_key("time"), 1.0}}), {{1, table_of({{step_key("time"), 2.0}})}});
  const auto step = open()->step(1).value();
  EXPECT_EQ(step->attributes().at(step_key("time")), AttributeValue(1.0));
  ASSERT_EQ(step->errors().size(), 1U);
  const std::string message = step->errors()[0].message();
  EXPECT_THAT(message, HasSubstr("data-000000.00001"));
  EXPECT_THAT(message, HasSubstr("attribute time of the step has another value in " + path(kFile)));
  EXPECT_EQ(verify(path())->findings.size(), 1U);
}

TEST_F(AttributesTest, damage_hides_the_attributes_of_a_file_and_nothing_else) {
  write(some_attributes(), {{1, table_of({{step_key("other"), 1}})}});
  flip_byte(kFile, attributes_offset() + 20);
  const auto step = open()->step(1).value();
  ASSERT_EQ(step->errors().size(), 1U);
  EXPECT_EQ(step->errors()[0].kind(), ErrorClass::kDamage);
  EXPECT_EQ(step->errors()[0].offset_bytes(), attributes_offset());
  EXPECT_EQ(step->attributes().size(), 1U);
  EXPECT_TRUE(step->find_part("pressure", 0));
  const auto found = verify(path());
  ASSERT_EQ(found->findings.size(), 1U);
  EXPECT_EQ(found->findings[0].step, 1U);
  const auto plan = plan_repair(path());
  ASSERT_EQ(plan->report.unrepaired.size(), 1U);
  EXPECT_THAT(plan->report.unrepaired[0].message(), HasSubstr("read attributes of step 1"));
}

TEST_F(AttributesTest, truncated_attributes_are_a_short_file) {
  write(some_attributes());
  truncate(kFile, attributes_offset() + 8);
  const auto step = open()->step(1).value();
  ASSERT_EQ(step->errors().size(), 1U);
  EXPECT_EQ(step->errors()[0].kind(), ErrorClass::kShortFile);
  EXPECT_TRUE(step->files()[0].index);
}

TEST_F(AttributesTest, repair_keeps_attributes_and_leaves_out_steps_without_theirs) {
  for (const bool is_damaged : {false, true}) {
    std::filesystem::remove_all(path());
    write(some_attributes());
    if (is_damaged) flip_byte(kFile, attributes_offset() + 20);
    fill_with_zeros("commits", {0, 8192});
    const auto plan = plan_repair(path());
    ASSERT_TRUE(plan) << plan.error().message();
    ASSERT_EQ(plan->report.steps.size(), 1U);
    EXPECT_EQ(plan->report.steps[0].outcome,
              is_damaged ? RepairedStep::Outcome::kDamaged : RepairedStep::Outcome::kRecovered);
  }
}

TEST_F(AttributesTest, index_states_version_1_1_only_with_attributes) {
  for (const bool has_attributes : {false, true}) {
    std::filesystem::remove_all(path());
    write(has_attributes ? some_attributes() : AttributeTable());
    const auto place = open()->step(1).value()->entry().files[0].index;
    const auto file = storage::must_open(path(kFile));
    std::array<std::byte, 160> header{};
    ASSERT_TRUE(file->read_at(header, place.offset));
    EXPECT_EQ(header[10], std::byte{has_attributes ? std::uint8_t{1} : std::uint8_t{0}});
    EXPECT_EQ(header[12], std::byte{160});
  }
}

TEST_F(AttributesTest, comparison_lists_each_attribute_that_differs) {
  TestStep left = test_step(1, 3, 1);
  TestStep right = left;
  left.attributes[0] = table_of(
      {{step_key("time"), 1.0}, {step_key("cycle"), 5}, {field_key("pressure", "units"), "Pa"}});
  right.attributes[0] = table_of(
      {{step_key("time"), 2.0}, {step_key("cycle"), 5}, {field_key("velocity", "units"), "m s-1"}});
  const auto one = write_and_open("left.fb", left);
  const auto other = write_and_open("right.fb", right);
  EXPECT_TRUE(diff(*one, *one)->attributes.empty());
  const auto all = diff(*one, *other).value();
  EXPECT_TRUE(all.fields.empty());
  ASSERT_EQ(all.attributes.size(), 3U);
  EXPECT_EQ(all.attributes[0].key, step_key("time"));
  EXPECT_EQ(all.attributes[0].left, AttributeValue(1.0));
  EXPECT_EQ(all.attributes[0].right, AttributeValue(2.0));
  EXPECT_EQ(all.attributes[1].key, field_key("pressure", "units"));
  EXPECT_FALSE(all.attributes[1].right);
  EXPECT_FALSE(all.attributes[2].left);
  const auto selected = diff(*one, *other, {.fields = {"velocity"}}).value();
  ASSERT_EQ(selected.attributes.size(), 1U);
  EXPECT_EQ(selected.attributes[0].key, field_key("velocity", "units"));
}

}  // namespace
}  // namespace forebay::format
