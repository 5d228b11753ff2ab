// SPDX-License-Identifier: Apache-2.0
// POSIX extended regular expressions of the C library: the kind that CubePL's own library uses, so
// that a pattern means the same (std::regex knows a POSIX grammar too, without the additions that
// specifications use, and recurses once for each character).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cube/cubepl/script.hpp"

namespace forebay::cubepl {

/// A compiled pattern. May be used by several threads.
class Pattern {
 public:
  /// The fault's offset is 0.
  static tl::expected<Pattern, Fault> compile(const std::string& pattern);

  /// Whether a part of `text` matches. `text` ends at its first zero byte.
  bool matches(const std::string& text) const;

 private:
  struct Compiled;
  struct Release {
    void operator()(Compiled* compiled) const noexcept;
  };
  std::unique_ptr<Compiled, Release> compiled_;
};

/// What patterns said of texts: names of regions come again with every call path. For one thread.
class PatternMemory {
 public:
  /// Texts remembered for each pattern; more are matched again.
  static constexpr std::size_t kTextsMax = std::size_t{1} << 16U;

  /// `patterns` must live as long as this.
  explicit PatternMemory(const std::vector<Pattern>& patterns)
      : patterns_(&patterns), known_(patterns.size()) {}

  bool matches(std::size_t pattern, const std::string& text);

 private:
  const std::vector<Pattern>* patterns_;
  std::vector<std::unordered_map<std::string, bool>> known_;
};

}  // namespace forebay::cubepl
