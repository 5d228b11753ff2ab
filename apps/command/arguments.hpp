// SPDX-License-Identifier: Apache-2.0
// The command line as options with values, checked against a list: an unknown or doubled option is
// a usage error, never ignored.
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

/// The options a command understands, with their dashes.
struct ArgumentRules {
  std::vector<std::string_view> flags;   ///< stand alone
  std::vector<std::string_view> values;  ///< `--name VALUE` or `--name=VALUE`
  std::size_t path_count = 1;            ///< how many files are named
};

/// One command's arguments. All failures are kInvalidArgument with operation "usage".
class Arguments {
 public:
  /// Sorts `words` (what follows the command) into options and paths, as many as
  /// the rules want. `--` ends options.
  static Result<Arguments> parse(std::span<const std::string_view> words,
                                 const ArgumentRules& rules);

  /// The first path; the others, where the rules want more, are in paths().
  const std::string& path() const noexcept { return paths_.front(); }
  std::span<const std::string> paths() const noexcept { return paths_; }
  bool has(std::string_view option) const { return options_.contains(option); }
  /// The value as given, empty for a flag; nullopt if the option is absent.
  std::optional<std::string_view> text(std::string_view option) const;
  /// Both ends are allowed.
  struct Bounds {
    std::uint64_t least = 0;
    std::uint64_t most = UINT64_MAX;
  };
  /// A whole number within bounds, or `otherwise` if the option is absent.
  Result<std::uint64_t> number(std::string_view option,
                               std::uint64_t otherwise,
                               Bounds bounds) const;
  /// A number of bytes within bounds, written as forebay::parse_size() reads it; nullopt if the
  /// option is absent.
  Result<std::optional<std::uint64_t>> size_bytes(std::string_view option, Bounds bounds) const;

 private:
  /// Adds the option in `word`, with its value from `rest` where it needs one.
  Status add_option(std::string_view word,
                    const ArgumentRules& rules,
                    std::span<const std::string_view>& rest);

  std::vector<std::string> paths_;
  std::map<std::string, std::string, std::less<>> options_;
};

/// A usage error.
Error usage_error(std::string cause);

}  // namespace forebay::command
