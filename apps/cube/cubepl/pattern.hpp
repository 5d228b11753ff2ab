// SPDX-License-Identifier: Apache-2.0
// POSIX extended regular expressions of the C library. CubeLib uses the same, so patterns have the
// same meaning. std::regex lacks extensions that specifications use, and recurses once per
// character.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cube/cubepl/script.hpp"

namespace forebay::cubepl {

/// A compiled pattern. Thread-safe.
class Pattern {
 public:
  /// The offset of the error is 0.
  static tl::expected<Pattern, ScriptError> compile(const std::string& pattern);

  /// Whether a part of `text` matches. `text` ends at its first zero byte.
  bool matches(const std::string& text) const;

 private:
  struct Compiled;
  struct Deleter {
    void operator()(Compiled* compiled) const noexcept;
  };
  std::unique_ptr<Compiled, Deleter> compiled_;
};

/// Caches results of matches: names of regions recur for every call path. For one thread.
class PatternCache {
 public:
  /// Texts cached for each pattern; more are matched each time.
  static constexpr std::size_t kCachedTextsMax = std::size_t{1} << 16U;

  /// `patterns` must outlive the object.
  explicit PatternCache(const std::vector<Pattern>& patterns)
      : patterns_(&patterns), cache_(patterns.size()) {}

  bool matches(std::size_t pattern, const std::string& text);

 private:
  const std::vector<Pattern>* patterns_;
  std::vector<std::unordered_map<std::string, bool>> cache_;
};

}  // namespace forebay::cubepl
