// SPDX-License-Identifier: Apache-2.0
// What is assigned in scripts. Globals are long arrays of mostly numbers, one element for each call
// path, and are kept so; a script's own variables are few and may differ between locations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cube/cubepl/lanes.hpp"

namespace forebay::cubepl {

enum class ValueKind : std::uint8_t { kUndefined, kNumber, kText };

/// A number, one for each location, or a text that all locations have.
struct Value {
  ValueKind kind = ValueKind::kUndefined;
  Lanes lanes;       ///< 0 unless it is a number
  std::string text;  ///< empty unless it is a text

  static Value of(Lanes lanes) { return {ValueKind::kNumber, std::move(lanes), {}}; }
  static Value of(std::string text) { return {ValueKind::kText, Lanes(), std::move(text)}; }
  /// The same value, for as long as this one is not changed.
  Value view() const { return {kind, lanes.view(), text}; }
};

/// A global. May be read by several threads while none assigns.
class GlobalArray {
 public:
  std::size_t size() const noexcept { return kinds_.size(); }
  /// What is not there is undefined.
  Value value(std::size_t index) const {
    if (index >= size()) return {};
    if (kinds_[index] == ValueKind::kText) return Value::of(texts_.at(index));
    return {kinds_[index], Lanes(numbers_[index]), {}};
  }
  /// `value` is the same for all locations. The array grows to hold `index`.
  void assign(std::size_t index, Value value) {
    if (index >= size()) {
      kinds_.resize(index + 1);
      numbers_.resize(index + 1);
    }
    kinds_[index] = value.kind;
    numbers_[index] = value.lanes.number();
    if (value.kind == ValueKind::kText) texts_[index] = std::move(value.text);
  }

 private:
  std::vector<ValueKind> kinds_;
  std::vector<double> numbers_;
  std::unordered_map<std::size_t, std::string> texts_;
};

using LocalArray = std::vector<Value>;

}  // namespace forebay::cubepl
