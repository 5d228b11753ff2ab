// SPDX-License-Identifier: Apache-2.0
// The arguments of a command, checked against its options and number of files. An unknown or
// repeated option is a usage error, never ignored.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::command {

/// The options of a command, with their dashes.
struct ArgumentSpec {
  std::vector<std::string_view> flags;   ///< options without a value
  std::vector<std::string_view> values;  ///< `--name VALUE` or `--name=VALUE`
  std::size_t path_count = 1;            ///< required number of files
};

/// Arguments of one command. Every failure is kInvalidArgument with operation "usage".
class Arguments {
 public:
  /// Parses the words after the command into options and paths. Fails unless there are exactly
  /// `rules.path_count` non-empty paths. `--` ends the options.
  static Result<Arguments> parse(std::span<const std::string_view> words,
                                 const ArgumentSpec& rules);

  /// The first path; paths() returns all.
  const std::string& path() const noexcept { return paths_.front(); }
  std::span<const std::string> paths() const noexcept { return paths_; }
  bool has(std::string_view option) const { return options_.contains(option); }
  /// The value as given, empty for a flag; nullopt if the option is absent.
  std::optional<std::string_view> text(std::string_view option) const;
  /// Inclusive bounds.
  struct Bounds {
    std::uint64_t min = 0;
    std::uint64_t max = UINT64_MAX;
  };
  /// A whole number within `bounds`, or `fallback` if the option is absent.
  Result<std::uint64_t> number(std::string_view option,
                               std::uint64_t fallback,
                               Bounds bounds) const;
  /// A number of bytes within `bounds`, in the syntax of forebay::parse_size(); nullopt if the
  /// option is absent.
  Result<std::optional<std::uint64_t>> size_bytes(std::string_view option, Bounds bounds) const;

 private:
  /// Adds the option in `word`; takes its value from `rest` if `word` has none and the option needs
  /// one.
  Status add_option(std::string_view word,
                    const ArgumentSpec& rules,
                    std::span<const std::string_view>& rest);

  std::vector<std::string> paths_;
  std::map<std::string, std::string, std::less<>> options_;
};

/// A usage error.
Error usage_error(std::string cause);

}  // namespace forebay::command
