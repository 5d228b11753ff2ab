// SPDX-License-Identifier: Apache-2.0
#include "command/arguments.hpp"

#include <forebay/config.hpp>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace forebay::command {

namespace {

bool is_among(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// An option's name and, after '=', its value.
struct OptionWord {
  std::string_view name;
  std::optional<std::string_view> value;
};

OptionWord split(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {word, std::nullopt};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

/// The value of option `word`, taken from the words after it where it needs one.
Result<std::string_view> value_of(const OptionWord& word,
                                  const ArgumentSpec& rules,
                                  std::span<const std::string_view>& rest) {
  if (is_among(rules.flags, word.name)) {
    if (!word.value) return std::string_view{};
    return failure(usage_error(fmt::format("{} takes no value", word.name)));
  }
  if (!is_among(rules.values, word.name)) {
    return failure(usage_error(fmt::format("unknown option {}", word.name)));
  }
  if (word.value) return *word.value;
  if (rest.empty()) {
    return failure(usage_error(fmt::format("{} needs a value", word.name)));
  }
  const std::string_view value = rest.front();
  rest = rest.subspan(1);
  return value;
}

template <class Number>
bool parse_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Error usage_error(std::string cause) {
  return Error(
      {.kind = ErrorClass::kInvalidArgument, .operation = "usage", .cause = std::move(cause)});
}

Result<Arguments> Arguments::parse(std::span<const std::string_view> words,
                                   const ArgumentSpec& rules) {
  Arguments arguments;
  while (!words.empty()) {
    const std::string_view word = words.front();
    words = words.subspan(1);
    if (word == "--") {
      arguments.paths_.insert(arguments.paths_.end(), words.begin(), words.end());
      break;
    }
    if (!word.starts_with("--")) {
      arguments.paths_.emplace_back(word);
      continue;
    }
    const Status added = arguments.add_option(word, rules, words);
    if (!added) return failure(added.error());
  }
  const bool has_empty = std::ranges::count(arguments.paths_, std::string{}) > 0;
  if (arguments.paths_.size() != rules.path_count || has_empty) {
    const std::string needed =
        rules.path_count == 1 ? "one FILE is" : fmt::format("{} FILEs are", rules.path_count);
    return failure(
        usage_error(fmt::format("{} needed, {} are given", needed, arguments.paths_.size())));
  }
  return arguments;
}

Status Arguments::add_option(std::string_view word,
                             const ArgumentSpec& rules,
                             std::span<const std::string_view>& rest) {
  const OptionWord option = split(word);
  const auto value = value_of(option, rules, rest);
  if (!value) return failure(value.error());
  if (options_.emplace(option.name, *value).second) return {};
  return failure(usage_error(fmt::format("{} is given twice", option.name)));
}

std::optional<std::string_view> Arguments::text(std::string_view option) const {
  const auto found = options_.find(option);
  if (found == options_.end()) return std::nullopt;
  return found->second;
}

Result<std::uint64_t> Arguments::number(std::string_view option,
                                        std::uint64_t fallback,
                                        Bounds bounds) const {
  const std::optional<std::string_view> given = text(option);
  if (!given) return fallback;
  std::uint64_t number = 0;
  if (parse_whole(*given, number) && number >= bounds.min && number <= bounds.max) return number;
  return failure(usage_error(fmt::format("{} must be a whole number from {} to {}, not '{}'",
                                         option, bounds.min, bounds.max, *given)));
}

Result<std::optional<std::uint64_t>> Arguments::size_bytes(std::string_view option,
                                                           Bounds bounds) const {
  const std::optional<std::string_view> given = text(option);
  if (!given) return std::optional<std::uint64_t>{};
  const Result<std::uint64_t> size = parse_size(*given);
  if (!size) {
    return failure(usage_error(fmt::format("{}: {}", option, size.error().cause())));
  }
  if (*size >= bounds.min && *size <= bounds.max) return *size;
  return failure(usage_error(fmt::format("{} must be from {} to {} bytes, not '{}'", option,
                                         bounds.min, bounds.max, *given)));
}

}  // namespace forebay::command
