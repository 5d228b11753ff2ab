// SPDX-License-Identifier: Apache-2.0
// Attribute: a name and a typed value that describe a dataset, a step or a field: units, a time,
// labels. As the attributes of HDF5, NetCDF and ADIOS2. docs/formats/attributes.md lists common
// names.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/element_type.hpp>
#include <forebay/part.hpp>
#include <forebay/range.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forebay {

/// Maximum size of a value in bytes. In a list, each text counts one byte more.
inline constexpr std::uint64_t kAttributeBytesMax = 1_MiB;

enum class AttributeKind : std::uint8_t {
  kText = 0,
  kTexts = 1,    ///< a list of texts
  kNumbers = 2,  ///< one number, or an array of numbers
};

/// "text", "texts", "numbers".
FOREBAY_EXPORT std::string_view name_of(AttributeKind kind) noexcept;

/// A type that converts to a text: std::string, std::string_view, a string literal.
template <class T>
concept AttributeText = std::convertible_to<const T&, std::string_view>;

/// The value of an attribute: owns its memory. Two values are equal if kind, type, shape and all
/// bytes are equal. Any constructor accepts any value; set_attribute() checks size and UTF-8.
class FOREBAY_EXPORT AttributeValue {
 public:
  /// An empty text.
  AttributeValue() : texts_(1) {}
  /// A text: UTF-8 without zero bytes.
  template <AttributeText T>
  AttributeValue(const T& text) : texts_{std::string(std::string_view(text))} {}
  /// A list of such texts: `AttributeValue(std::vector<std::string>{"y", "x"})`.
  AttributeValue(std::vector<std::string> texts)
      : kind_(AttributeKind::kTexts), texts_(std::move(texts)) {
    shape_ = {texts_.size()};
  }
  /// One number, without dimensions.
  template <class T>
    requires(element_type_of<T>().has_value() && !AttributeText<T>)
  AttributeValue(const T& number)
      : AttributeValue(*element_type_of<T>(), {}, std::as_bytes(std::span(&number, 1))) {}
  /// Numbers in C order. `shape` has as many elements; left out: one dimension.
  template <ElementRange R>
    requires(!AttributeText<R>)
  AttributeValue(const R& numbers, const Shape& shape = {})
      : AttributeValue(*element_type_of<std::ranges::range_value_t<R>>(),
                       shape.empty() ? Shape{std::ranges::size(numbers)} : shape,
                       std::as_bytes(std::span(numbers))) {}
  /// Numbers of a type that is known at run time, in the byte order of this machine.
  AttributeValue(ElementType type, Shape shape, std::span<const std::byte> bytes)
      : kind_(AttributeKind::kNumbers),
        type_(type),
        shape_(std::move(shape)),
        bytes_(bytes.begin(), bytes.end()) {}

  AttributeKind kind() const noexcept { return kind_; }
  /// Type of the numbers; kBytes for texts.
  ElementType type() const noexcept { return type_; }
  /// Empty for a text and for one number; the number of texts for a list.
  const Shape& shape() const noexcept { return shape_; }
  /// The numbers in C order and in the byte order of this machine; empty for texts.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// The texts of a list, or the one text; empty for numbers.
  std::span<const std::string> texts() const noexcept { return texts_; }
  /// The text; empty for other kinds.
  std::string_view text() const noexcept {
    return kind_ == AttributeKind::kText ? std::string_view(texts_.front()) : std::string_view();
  }
  /// The numbers, if their type is that of T; else no value.
  template <class T>
  std::optional<std::vector<T>> numbers() const {
    if (kind_ != AttributeKind::kNumbers || element_type_of<T>() != type_) return std::nullopt;
    std::vector<T> values(bytes_.size() / sizeof(T));
    if (!bytes_.empty()) std::memcpy(values.data(), bytes_.data(), values.size() * sizeof(T));
    return values;
  }
  /// The number, if the value is one real number of any type; rounded to a double.
  std::optional<double> number() const noexcept;

  /// One line for people, such as `m s-1`, `["y", "x"]`, `[0.5, 1]`. Lists end after 16 elements
  /// with their count. Control characters become escapes.
  std::string to_text() const;

  friend bool operator==(const AttributeValue&, const AttributeValue&) = default;

 private:
  AttributeKind kind_ = AttributeKind::kText;
  ElementType type_ = ElementType::kBytes;
  Shape shape_;
  std::vector<std::string> texts_;  ///< one for kText
  std::vector<std::byte> bytes_;
};

/// A name and its value.
struct Attribute {
  std::string name = {};
  AttributeValue value = {};

  friend bool operator==(const Attribute&, const Attribute&) = default;
};

/// The value with this name; null if there is none.
FOREBAY_EXPORT const AttributeValue* find_attribute(std::span<const Attribute> attributes,
                                                    std::string_view name) noexcept;

}  // namespace forebay
