// SPDX-License-Identifier: Apache-2.0
#include "format/records.hpp"

#include <forebay/element_type.hpp>

#include <array>
#include <complex>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "base/utf8.hpp"

namespace forebay::format {
namespace {

static_assert(ElementRange<std::vector<std::complex<double>>&>);
static_assert(!ElementRange<std::vector<std::array<float, 3>>&>);
static_assert(!ElementRange<std::vector<ByteOrder>&>, "an enumeration has no element type");
static_assert(element_type_of<char>() == ElementType::kInt8, "on all platforms");

TEST(Records, magic_is_readable_in_the_file) {
  const std::uint64_t magic = kIndexMagic;
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(&magic), 8), "FbyIndex");
}

TEST(Records, names_of_data_files_are_read_back) {
  EXPECT_EQ(to_string(DataFileName{12, 3}), "data-000012.00003");
  EXPECT_EQ(to_string(DataFileName{1'234'567, 123'456}), "data-1234567.123456");
  for (const DataFileName name : {DataFileName{0, 0}, DataFileName{UINT64_MAX, UINT32_MAX}})
    EXPECT_EQ(parse_data_file_name(to_string(name)), name);
}

TEST(Records, other_names_are_not_data_files) {
  for (const char* name :
       {"", "data-", "data-1.1", "data-000001", "data-000001.0001", "data-0000001.00001",
        "data-000001.000001", "data-000001.00001x", "data-00000x.00001", "data--00001.00001",
        "data-000001.-0001", "free-000001.00001", "data-000001.4294967296",
        "data-18446744073709551616.00000", "xdata-000001.00001"})
    EXPECT_FALSE(parse_data_file_name(name).has_value()) << name;
}

TEST(Records, names_of_fields_are_utf8_without_control_characters) {
  for (const char* name : {"p", "velocity x", "Größe", "圧力", "\xF0\x9F\x8C\x8A", "a/b"})
    EXPECT_TRUE(is_field_name(name)) << name;
  for (const char* name :
       {"", "a\nb", "\x7f", "\xC2\x85", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "a\xC3", "\xFF"})
    EXPECT_FALSE(is_field_name(name)) << name;
  EXPECT_TRUE(is_field_name(std::string(255, 'x')));
  EXPECT_FALSE(is_field_name(std::string(256, 'x')));
  EXPECT_FALSE(is_field_name(std::string_view("a\0b", 3)));
}

TEST(Records, any_utf8_is_text) {
  for (const char* text : {"", "a\nb", "\xC2\x85", "Größe", "\xF0\x9F\x8C\x8A"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"\xC0\x80", "gr\xfc\xdf", "a\xC3", "\xED\xA0\x80"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(Records, invalid_fields_are_refused) {
  EXPECT_TRUE(check_field({.name = "p", .dimensions = 0}));
  EXPECT_TRUE(check_field({.name = "g", .kind = FieldKind::kGlobal, .shape = {4}}));
  EXPECT_FALSE(check_field({.name = ""}));
  EXPECT_FALSE(check_field({.name = "p", .dimensions = 9}));
  EXPECT_FALSE(check_field({.name = "p", .shape = {4}}));
  EXPECT_FALSE(check_field({.name = "g", .kind = FieldKind::kGlobal, .dimensions = 0}));
  EXPECT_FALSE(
      check_field({.name = "g", .kind = FieldKind::kGlobal, .dimensions = 2, .shape = {4}}));
  const FieldDefinition huge = {.name = "g",
                                .type = ElementType::kFloat64,
                                .kind = FieldKind::kGlobal,
                                .dimensions = 2,
                                .shape = {1ULL << 40U, 1ULL << 20U}};
  ASSERT_FALSE(check_field(huge));
  EXPECT_EQ(check_field(huge).error().kind(), ErrorClass::kInvalidArgument);
}

TEST(Records, dataset_ids_differ) {
  std::set<std::string> texts;
  for (int i = 0; i < 10; ++i)
    texts.insert(to_string(generate_dataset_id().value()));
  EXPECT_EQ(texts.size(), 10U);
  EXPECT_EQ(texts.begin()->size(), 32U);
}

TEST(ElementTypes, have_names_that_are_read_back) {
  for (std::uint8_t number = kElementTypeMin; number <= kElementTypeMax; ++number) {
    const auto type = static_cast<ElementType>(number);
    EXPECT_EQ(parse_element_type(name_of(type)), type);
    EXPECT_GT(element_size(type), 0U);
  }
  EXPECT_EQ(parse_element_type("double"), std::nullopt);
  EXPECT_EQ(parse_element_type(""), std::nullopt);
}

TEST(ElementTypes, of_cpp_types) {
  EXPECT_EQ(element_type_of<const double>(), ElementType::kFloat64);
  EXPECT_EQ(element_type_of<std::uint16_t>(), ElementType::kUint16);
  EXPECT_EQ(element_type_of<long long>(), ElementType::kInt64);
  EXPECT_EQ(element_type_of<std::byte>(), ElementType::kBytes);
  EXPECT_EQ(element_type_of<std::complex<float>>(), ElementType::kComplex64);
  EXPECT_EQ(element_type_of<bool>(), std::nullopt);
  EXPECT_EQ(element_type_of<std::string>(), std::nullopt);
}

}  // namespace
}  // namespace forebay::format
