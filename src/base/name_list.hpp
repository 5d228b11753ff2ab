// SPDX-License-Identifier: Apache-2.0
// NameList: the valid names, for an Error about an unknown one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace forebay {

/// Collects names for a message of bounded length.
class NameList {
 public:
  /// Number of names that text() contains at most.
  static constexpr std::size_t kNamesMax = 20;

  void add(std::string_view name) {
    if (++count_ > kNamesMax) return;
    if (count_ > 1) names_ += ", ";
    names_ += name;
  }
  /// "none", "a", "a, b", or the first kNamesMax names with "and 3 others".
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
