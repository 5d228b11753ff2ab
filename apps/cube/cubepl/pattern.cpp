// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/pattern.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <regex.h>

namespace forebay::cubepl {

struct Pattern::Compiled {
  regex_t regex;
};

void Pattern::Deleter::operator()(Compiled* compiled) const noexcept {
  ::regfree(&compiled->regex);
  delete compiled;
}

namespace {

/// The C library expands repetitions: nested intervals multiply.
constexpr std::uint64_t kRepetitionsMax = 10'000;

/// An upper bound for the copies of the innermost of nested intervals.
std::uint64_t repetitions_of(const std::string& pattern) {
  std::uint64_t product = 1;
  for (std::size_t at = pattern.find('{'); at != std::string::npos;
       at = pattern.find('{', at + 1)) {
    std::uint64_t most = 0;
    std::uint64_t number = 0;
    for (std::size_t i = at + 1; i < pattern.size() && pattern[i] != '}'; ++i) {
      const bool is_digit = pattern[i] >= '0' && pattern[i] <= '9';
      number = is_digit ? std::min(number * 10 + static_cast<std::uint64_t>(pattern[i] - '0'),
                                   kRepetitionsMax)
                        : 0;
      most = std::max(most, number);
    }
    product = std::min(product * std::max<std::uint64_t>(1, most), kRepetitionsMax + 1);
  }
  return product;
}

}  // namespace

tl::expected<Pattern, ScriptError> Pattern::compile(const std::string& pattern) {
  if (repetitions_of(pattern) > kRepetitionsMax) {
    return tl::unexpected<ScriptError>(
        {ErrorClass::kLimit, 0,
         fmt::format("/{}/ repeats more than {} times; use fewer or smaller {{intervals}}", pattern,
                     kRepetitionsMax)});
  }
  auto compiled = std::make_unique<Compiled>();
  const int error = ::regcomp(&compiled->regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 256> text{};
    ::regerror(error, &compiled->regex, text.data(), text.size());
    return tl::unexpected<ScriptError>(
        {ErrorClass::kInvalidArgument, 0,
         fmt::format("/{}/ is not an extended regular expression: {}", pattern, text.data())});
  }
  Pattern made;
  made.compiled_.reset(compiled.release());
  return made;
}

bool Pattern::matches(const std::string& text) const {
  return ::regexec(&compiled_->regex, text.c_str(), 0, nullptr, 0) == 0;
}

bool PatternCache::matches(std::size_t pattern, const std::string& text) {
  auto& known = cache_[pattern];
  if (const auto found = known.find(text); found != known.end()) return found->second;
  const bool answer = (*patterns_)[pattern].matches(text);
  if (known.size() < kCachedTextsMax) known.emplace(text, answer);
  return answer;
}

}  // namespace forebay::cubepl
