// SPDX-License-Identifier: Apache-2.0
// Config: settings from a TOML file and from FOREBAY_... variables, checked when they are read. An
// unknown key, a wrong type or a number out of range is an Error that names the place. Only
// process_environment() reads the environment of the process.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forebay {

/// Names and values of environment variables.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// The current environment of this process. No other function of Forebay reads it.
Environment process_environment();

/// A valid setting. The name "read.memory" stands for `memory` in the table `[read]` and for the
/// variable FOREBAY_READ_MEMORY.
struct ConfigKey {
  std::string_view name;         ///< lower case, digits, '_', and '.' between tables
  std::string_view description;  ///< one sentence
};

/// The sources of settings. A variable overrides the file.
struct ConfigSource {
  std::span<const ConfigKey> keys = {};
  Environment environment = {};
  /// The TOML file. If absent, the file that the variable FOREBAY_CONFIG names; without that
  /// variable, no file.
  std::optional<std::string> file = {};
  /// Variables that begin with FOREBAY_ and are not settings ("FOREBAY_SAMPLES"). Those that begin
  /// with FOREBAY_TEST_ are never settings.
  std::span<const std::string_view> other_variables = {};
};

/// The range of a number, and its default.
template <class T>
struct Setting {
  T fallback;
  T min;
  T max;
};

/// Settings as given. A plain value; any number of threads may read it.
class Config {
 public:
  /// Reads file and environment. Fails if the file is missing or not TOML, on an unknown key, and
  /// on values that are neither text, number nor boolean. The Error of an unknown key names the
  /// nearest valid one.
  static Result<Config> load(const ConfigSource& source);

  /// Each getter returns the fallback if the key was not set. If the value does not fit, it fails
  /// with kInvalidArgument and names file and line, or the variable. `key` is one of the keys that
  /// load() received.
  Result<std::string> text(std::string_view key, std::string_view fallback) const;
  Result<std::uint64_t> count(std::string_view key, Setting<std::uint64_t> setting) const;
  /// Parses the value with parse_size().
  Result<std::uint64_t> bytes(std::string_view key, Setting<std::uint64_t> setting) const;
  Result<double> real(std::string_view key, Setting<double> setting) const;
  /// Accepts true, on, yes, 1 and false, off, no, 0, in any case.
  Result<bool> flag(std::string_view key, bool fallback) const;

  /// True if the file or the environment sets the key.
  bool is_set(std::string_view key) const { return values_.contains(key); }

 private:
  struct Value {
    std::string text;
    std::string origin;  ///< "forebay.toml line 3" or "FOREBAY_READ_MEMORY"
  };
  const Value* find(std::string_view key) const;
  Status load_file(const std::string& path, std::span<const ConfigKey> keys);
  Status load_environment(const ConfigSource& source);

  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace forebay
