// SPDX-License-Identifier: Apache-2.0
// The names that exist, for an Error about one that does not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace forebay {

/// Collects names for a message, which stays short however many there are.
class NameList {
 public:
  /// Names that text() holds.
  static constexpr std::size_t kNamesMax = 20;

  void add(std::string_view name) {
    if (++count_ > kNamesMax) return;
    if (count_ > 1) names_ += ", ";
    names_ += name;
  }
  /// "none", "a", or "a, b" with "and 3 others" behind.
  std::string text() const {
    if (count_ == 0) return "none";
    if (count_ <= kNamesMax) return names_;
    return names_ + " and " + std::to_string(count_ - kNamesMax) + " others";
  }

 private:
  std::string names_;
  std::size_t count_ = 0;
};

}  // namespace forebay
