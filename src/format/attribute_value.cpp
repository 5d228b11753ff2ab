// SPDX-License-Identifier: Apache-2.0
// Values of attributes as numbers and as texts.
#include <forebay/attribute.hpp>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/printable.hpp"
#include "format/array_difference.hpp"

namespace forebay {
namespace {

/// Elements of a list that to_text() shows.
constexpr std::size_t kShownElementsMax = 16;

template <class Number>
std::string text_of(Number number) {
  std::array<char, 32> text{};  // the longest shortest double has 24 characters
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

template <class Number>
Number load_number(std::span<const std::byte> element) noexcept {
  Number number;
  std::memcpy(&number, element.data(), sizeof number);
  return number;
}

std::string element_text(ElementType type, std::span<const std::byte> element) {
  // As doubles, these would lose digits.
  if (type == ElementType::kInt64) return text_of(load_number<std::int64_t>(element));
  if (type == ElementType::kUint64) return text_of(load_number<std::uint64_t>(element));
  // As a double, it would have digits that float32 does not have.
  if (type == ElementType::kFloat32) return text_of(load_number<float>(element));
  const std::complex<double> value = format::decode_element(type, ByteOrder::kLittle, element);
  if (type != ElementType::kComplex64 && type != ElementType::kComplex128)
    return text_of(value.real());
  return "(" + text_of(value.real()) + ", " + text_of(value.imag()) + ")";
}

}  // namespace

std::string_view name_of(AttributeKind kind) noexcept {
  constexpr std::string_view kNames[] = {"text", "texts", "numbers"};
  return kNames[static_cast<std::uint8_t>(kind)];
}

std::optional<double> AttributeValue::number() const noexcept {
  const bool is_complex = type_ == ElementType::kComplex64 || type_ == ElementType::kComplex128;
  const bool is_one = kind_ == AttributeKind::kNumbers && bytes_.size() == element_size(type_);
  if (!is_one || is_complex) return std::nullopt;
  return format::decode_element(type_, ByteOrder::kLittle, bytes_).real();
}

std::string AttributeValue::to_text() const {
  if (kind_ == AttributeKind::kText) return to_printable(text());
  const bool has_numbers = kind_ == AttributeKind::kNumbers;
  const std::size_t element_bytes = element_size(type_);
  const std::size_t count = has_numbers ? bytes_.size() / element_bytes : texts_.size();
  std::string line;
  for (std::size_t i = 0; i < std::min(count, kShownElementsMax); ++i) {
    if (i > 0) line += ", ";
    line += has_numbers ? element_text(type_, bytes().subspan(i * element_bytes, element_bytes))
                        : '"' + to_printable(texts_[i]) + '"';
  }
  if (count > kShownElementsMax) line += ", ... " + std::to_string(count) + " in all";
  return has_numbers && shape_.empty() ? line : "[" + line + "]";
}

const AttributeValue* find_attribute(std::span<const Attribute> attributes,
                                     std::string_view name) noexcept {
  const auto found = std::ranges::find(attributes, name, &Attribute::name);
  return found == attributes.end() ? nullptr : &found->value;
}

}  // namespace forebay
