// SPDX-License-Identifier: Apache-2.0
// Reads settings: TOML through toml++, which only this file and the reader of machines use, and
// variables from the caller. Values are stored as text with their origin. The getters convert them,
// because only they have the type.

#include "base/config.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <toml++/toml.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/nearest.hpp"
#include "base/text_file.hpp"
#include "base/toml_nesting.hpp"

namespace forebay {

namespace {

constexpr std::string_view kPrefix = "FOREBAY_";
constexpr std::string_view kTestPrefix = "FOREBAY_TEST_";  // for tests of Forebay
constexpr std::string_view kFileVariable = "FOREBAY_CONFIG";

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// "read.memory" is set by "FOREBAY_READ_MEMORY".
std::string variable_of(std::string_view key) {
  std::string name(kPrefix);
  for (const unsigned char c : key) {
    name += c == '.' ? '_' : static_cast<char>(std::toupper(c));
  }
  return name;
}

/// The Error for an unknown `name`, with the nearest of `known` as a suggestion.
Error unknown_name(std::string_view name,
                   const std::vector<std::string>& known,
                   std::string origin) {
  std::string cause = "unknown setting \"" + std::string(name) + "\"";
  if (!known.empty()) cause += "; the nearest one is \"" + nearest_word(name, known) + "\"";
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "read settings from",
                .path = std::move(origin),
                .cause = std::move(cause)});
}

Error bad_value(std::string_view key, const std::string& origin, std::string cause) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "read setting " + std::string(key) + " from",
                .path = origin,
                .cause = std::move(cause)});
}

Result<toml::table> parse_file(const std::string& path) {
  const Result<std::string> content = read_text_file(path, "read settings from");
  if (!content) return failure(content.error());
  if (const Status flat = check_toml_nesting(*content, "read settings from", path); !flat)
    return failure(flat.error());
  try {
    return toml::parse(*content, path);
  } catch (const toml::parse_error& error) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "read settings from",
                    .path = path,
                    .cause = "line " + std::to_string(error.source().begin.line) + ": " +
                             std::string(error.description())});
  }
}

/// The text of a TOML value, as a variable would hold it. No value for arrays, dates and similar
/// types.
std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* real = node.as_floating_point()) {
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), real->get()).ptr;
    return std::string(buffer.data(), end);
  }
  return std::nullopt;
}

struct Leaf {
  std::string key;
  const toml::node* node;
};

/// Appends all values of a table and its inner tables, with their dotted keys.
void collect_leaves(const toml::table& table,
                    const std::string& prefix,
                    std::vector<Leaf>& leaves) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const auto* inner = node.as_table()) {
      collect_leaves(*inner, key + ".", leaves);
    } else {
      leaves.push_back({key, &node});
    }
  }
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
std::string number_text(T number) {
  std::array<char, 64> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
}

template <class T>
Status check_range(T value, const Setting<T>& setting) {
  if (value >= setting.min && value <= setting.max) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .cause = number_text(value) + " is not between " + number_text(setting.min) +
                           " and " + number_text(setting.max)});
}

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array<SizeUnit, 10> kSizeUnits{{{"", 1},
                                               {"b", 1},
                                               {"kib", 1ULL << 10U},
                                               {"mib", 1ULL << 20U},
                                               {"gib", 1ULL << 30U},
                                               {"tib", 1ULL << 40U},
                                               {"kb", 1'000},
                                               {"mb", 1'000'000},
                                               {"gb", 1'000'000'000},
                                               {"tb", 1'000'000'000'000}}};

}  // namespace

Environment process_environment() {
  Environment result;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line(*entry);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    result.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return result;
}

Result<Config> Config::load(const ConfigSource& source) {
  Config config;
  std::optional<std::string> path = source.file;
  if (!path) {
    const auto named =
        std::ranges::find(source.environment, kFileVariable, &Environment::value_type::first);
    if (named != source.environment.end() && !named->second.empty()) path = named->second;
  }
  if (path) {
    if (Status loaded = config.load_file(*path, source.keys); !loaded) {
      return failure(loaded.error());
    }
  }
  if (Status loaded = config.load_environment(source); !loaded) {
    return failure(loaded.error());
  }
  return config;
}

Status Config::load_file(const std::string& path, std::span<const ConfigKey> keys) {
  const Result<toml::table> table = parse_file(path);
  if (!table) return failure(table.error());
  std::vector<Leaf> leaves;
  collect_leaves(*table, "", leaves);
  for (const Leaf& leaf : leaves) {
    const std::string origin = path + " line " + std::to_string(leaf.node->source().begin.line);
    if (std::ranges::find(keys, leaf.key, &ConfigKey::name) == keys.end()) {
      std::vector<std::string> known;
      for (const ConfigKey& key : keys)
        known.emplace_back(key.name);
      return failure(unknown_name(leaf.key, known, origin));
    }
    const std::optional<std::string> text = text_of(*leaf.node);
    if (!text) {
      return failure(bad_value(leaf.key, origin, "a setting is text, a number or a boolean"));
    }
    values_.insert_or_assign(leaf.key, Value{*text, origin});
  }
  return {};
}

Status Config::load_environment(const ConfigSource& source) {
  std::vector<std::string> known;
  for (const ConfigKey& key : source.keys) {
    FOREBAY_ASSERT(std::ranges::find(known, variable_of(key.name)) == known.end());
    FOREBAY_ASSERT(!variable_of(key.name).starts_with(kTestPrefix));
    known.push_back(variable_of(key.name));
  }
  for (const auto& [name, text] : source.environment) {
    if (!name.starts_with(kPrefix) || name == kFileVariable) continue;
    if (name.starts_with(kTestPrefix)) continue;
    if (std::ranges::find(source.other_variables, name) != source.other_variables.end()) continue;
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      known.insert(known.end(), source.other_variables.begin(), source.other_variables.end());
      known.emplace_back(kFileVariable);
      return failure(unknown_name(name, known, "the environment"));
    }
    const auto position = static_cast<std::size_t>(found - known.begin());
    values_.insert_or_assign(std::string(source.keys[position].name), Value{text, name});
  }
  return {};
}

const Config::Value* Config::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Result<std::string> Config::text(std::string_view key, std::string_view fallback) const {
  const Value* const value = find(key);
  return value != nullptr ? value->text : std::string(fallback);
}

Result<std::uint64_t> Config::count(std::string_view key, Setting<std::uint64_t> setting) const {
  const Value* const value = find(key);
  if (value == nullptr) return setting.fallback;
  const auto number = parse_number<std::uint64_t>(value->text);
  if (!number) {
    return failure(bad_value(key, value->origin, "\"" + value->text + "\" is not a whole number"));
  }
  if (const Status fits = check_range(*number, setting); !fits) {
    return failure(bad_value(key, value->origin, fits.error().cause()));
  }
  return *number;
}

Result<std::uint64_t> Config::bytes(std::string_view key, Setting<std::uint64_t> setting) const {
  const Value* const value = find(key);
  if (value == nullptr) return setting.fallback;
  const Result<std::uint64_t> size = parse_size(value->text);
  if (!size) return failure(bad_value(key, value->origin, size.error().cause()));
  if (const Status fits = check_range(*size, setting); !fits) {
    return failure(bad_value(key, value->origin, fits.error().cause()));
  }
  return *size;
}

Result<double> Config::real(std::string_view key, Setting<double> setting) const {
  const Value* const value = find(key);
  if (value == nullptr) return setting.fallback;
  const auto number = parse_number<double>(value->text);
  if (!number) {
    return failure(bad_value(key, value->origin, "\"" + value->text + "\" is not a number"));
  }
  if (const Status fits = check_range(*number, setting); !fits) {
    return failure(bad_value(key, value->origin, fits.error().cause()));
  }
  return *number;
}

Result<bool> Config::flag(std::string_view key, bool fallback) const {
  const Value* const value = find(key);
  if (value == nullptr) return fallback;
  const std::string word = lower(value->text);
  for (const std::string_view yes : {"true", "on", "yes", "1"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"false", "off", "no", "0"}) {
    if (word == no) return false;
  }
  return failure(
      bad_value(key, value->origin, "\"" + value->text + "\" is neither true nor false"));
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto reject = [text](std::string_view why) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "parse a size",
                    .cause = "\"" + std::string(text) + "\" " + std::string(why)});
  };
  std::uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error == std::errc::result_out_of_range) return reject("is too large");
  if (error != std::errc{}) return reject("is not a size; write a number and KiB, MiB, GiB or TiB");
  std::string_view suffix(end, static_cast<std::size_t>(last - end));
  while (suffix.starts_with(' '))
    suffix.remove_prefix(1);
  const auto* const unit = std::ranges::find(kSizeUnits, lower(suffix), &SizeUnit::name);
  if (unit == kSizeUnits.end()) return reject("has an unknown unit; use KiB, MiB, GiB or TiB");
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(number, unit->bytes, &bytes)) return reject("is too large");
  return bytes;
}

}  // namespace forebay
