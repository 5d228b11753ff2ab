// SPDX-License-Identifier: Apache-2.0
// Settings from a TOML file and from FOREBAY_... variables, checked when they are read: an unknown
// key, a wrong type or a number out of range is an Error that names the place. Nothing here looks
// at the process's environment by itself.
#pragma once

#include <forebay/error.hpp>

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

/// The environment of this process, as it is now. The only function of Forebay that reads it.
Environment process_environment();

/// A setting that exists. "read.memory" is `memory` of the table `[read]` and the variable
/// FOREBAY_READ_MEMORY.
struct ConfigKey {
  std::string_view name;     ///< lower case, digits, '_', and '.' between tables
  std::string_view meaning;  ///< one sentence
};

/// Where settings come from. A variable beats the file.
struct ConfigSource {
  std::span<const ConfigKey> keys = {};
  Environment environment = {};
  /// The TOML file; if absent, the one that the variable FOREBAY_CONFIG names; if that is absent
  /// too, none.
  std::optional<std::string> file = {};
  /// Variables that begin with FOREBAY_ and are no settings ("FOREBAY_SAMPLES"); those that begin
  /// with FOREBAY_TEST_ never are.
  std::span<const std::string_view> other_variables = {};
};

/// What a number may be, and what it is if nobody sets it.
template <class T>
struct Setting {
  T fallback;
  T min;
  T max;
};

/// Settings as they were given. A plain value; reading it is safe from any thread.
class Config {
 public:
  /// Reads file and environment. Fails on a file that is missing or is not TOML, on a key that
  /// nobody knows (the message offers the nearest one), and on values that are neither text, number
  /// nor boolean.
  static Result<Config> load(const ConfigSource& source);

  /// The getters give the fallback if the key was not set, and an Error of class kInvalidArgument
  /// that names file and line, or variable, if its value does not fit. `key` is one of the keys
  /// that load() was given.
  Result<std::string> text(std::string_view key, std::string_view fallback) const;
  Result<std::uint64_t> count(std::string_view key, Setting<std::uint64_t> setting) const;
  /// As parse_size().
  Result<std::uint64_t> bytes(std::string_view key, Setting<std::uint64_t> setting) const;
  Result<double> real(std::string_view key, Setting<double> setting) const;
  /// true, on, yes, 1 or false, off, no, 0.
  Result<bool> flag(std::string_view key, bool fallback) const;

  /// True if file or environment set it.
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

/// Bytes from "4096", "64KiB", "64 MiB", "2GiB", "1TiB" (powers of 1024) or "64kB", "64MB", "2GB",
/// "1TB" (powers of 1000). Upper and lower case mean the same.
Result<std::uint64_t> parse_size(std::string_view text);

}  // namespace forebay
