// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/pattern.hpp"

#include <array>

#include <fmt/format.h>
#include <regex.h>

namespace forebay::cubepl {

struct Pattern::Compiled {
  regex_t regex;
};

void Pattern::Release::operator()(Compiled* compiled) const noexcept {
  ::regfree(&compiled->regex);
  delete compiled;
}

tl::expected<Pattern, Fault> Pattern::compile(const std::string& pattern) {
  auto compiled = std::make_unique<Compiled>();
  const int error = ::regcomp(&compiled->regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 256> text{};
    ::regerror(error, &compiled->regex, text.data(), text.size());
    return tl::unexpected<Fault>(
        {ErrorClass::kInvalidArgument, 0,
         fmt::format("/{}/ is no extended regular expression: {}", pattern, text.data())});
  }
  Pattern made;
  made.compiled_.reset(compiled.release());
  return made;
}

bool Pattern::matches(const std::string& text) const {
  return ::regexec(&compiled_->regex, text.c_str(), 0, nullptr, 0) == 0;
}

bool PatternMemory::matches(std::size_t pattern, const std::string& text) {
  auto& known = known_[pattern];
  if (const auto found = known.find(text); found != known.end()) return found->second;
  const bool answer = (*patterns_)[pattern].matches(text);
  if (known.size() < kTextsMax) known.emplace(text, answer);
  return answer;
}

}  // namespace forebay::cubepl
