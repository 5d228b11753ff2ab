// SPDX-License-Identifier: Apache-2.0
// Variables of scripts. Globals are long arrays of mostly numbers, one element for each call path,
// and are stored as such. Locals are few and may differ between locations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cube/cubepl/lanes.hpp"

namespace forebay::cubepl {

enum class ScriptValueKind : std::uint8_t { kUndefined, kNumber, kText };

/// A number for each location, or a text that is equal at all locations.
struct Value {
  ScriptValueKind kind = ScriptValueKind::kUndefined;
  Lanes lanes;       ///< 0 unless it is a number
  std::string text;  ///< empty unless it is a text

  static Value of(Lanes lanes) { return {ScriptValueKind::kNumber, std::move(lanes), {}}; }
  static Value of(std::string text) { return {ScriptValueKind::kText, Lanes(), std::move(text)}; }
  /// The same value; valid while this object is unchanged.
  Value view() const { return {kind, lanes.view(), text}; }
};

/// A global. Several threads may read it while none assigns.
class GlobalArray {
 public:
  std::size_t size() const noexcept { return kinds_.size(); }
  /// A missing element is undefined.
  Value value(std::size_t index) const {
    if (index >= size()) return {};
    if (kinds_[index] == ScriptValueKind::kText) return Value::of(texts_.at(index));
    return {kinds_[index], Lanes(numbers_[index]), {}};
  }
  /// `value` must be uniform. The array grows to hold `index`.
  void assign(std::size_t index, Value value) {
    if (index >= size()) {
      kinds_.resize(index + 1);
      numbers_.resize(index + 1);
    }
    kinds_[index] = value.kind;
    numbers_[index] = value.lanes.number();
    if (value.kind == ScriptValueKind::kText) texts_[index] = std::move(value.text);
  }

 private:
  std::vector<ScriptValueKind> kinds_;
  std::vector<double> numbers_;
  std::unordered_map<std::size_t, std::string> texts_;
};

using LocalArray = std::vector<Value>;

}  // namespace forebay::cubepl
