// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/attribute_json.hpp"

#include <cmath>

#include "format/array_difference.hpp"

namespace forebay::dataset_tool {
namespace {

using command::Json;

Json number_json(double number) {
  if (std::isfinite(number)) return number;
  if (std::isnan(number)) return "nan";
  return number > 0 ? "inf" : "-inf";
}

Json numbers_json(const AttributeValue& value) {
  // As doubles, numbers above 2^53 would lose digits.
  if (const auto numbers = value.numbers<std::int64_t>()) return *numbers;
  if (const auto numbers = value.numbers<std::uint64_t>()) return *numbers;
  const ElementType type = value.type();
  const bool is_complex = type == ElementType::kComplex64 || type == ElementType::kComplex128;
  const bool is_integer = type < ElementType::kFloat16 || type == ElementType::kBytes;
  const std::size_t bytes = element_size(type);
  Json list = Json::array();
  for (std::size_t at = 0; at < value.bytes().size(); at += bytes) {
    const auto number =
        format::decode_element(type, ByteOrder::kLittle, value.bytes().subspan(at, bytes));
    list.push_back(is_integer ? Json(std::llround(number.real())) : number_json(number.real()));
    if (is_complex) list.push_back(number_json(number.imag()));
  }
  return list;
}

}  // namespace

Json to_json(const AttributeValue& value) {
  Json content = value.text();
  if (value.kind() == AttributeKind::kTexts) content = value.texts();
  if (value.kind() == AttributeKind::kNumbers) content = numbers_json(value);
  return {{"kind", name_of(value.kind())},
          {"type", name_of(value.type())},
          {"shape", value.shape()},
          {"value", std::move(content)},
          {"text", value.to_text()}};
}

Json attributes_json(const format::AttributeMap& attributes,
                     format::AttributeScope scope,
                     const std::string& field) {
  Json list = Json::array();
  for (const auto& [name, value] : format::list_attributes(attributes, scope, field)) {
    Json json = to_json(value);
    json["name"] = name;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace forebay::dataset_tool
