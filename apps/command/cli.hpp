// SPDX-License-Identifier: Apache-2.0
// Command lines of native programs: CLI11 with the bounds, choices, sizes and usage errors that all
// programs share. A value that is not allowed fails with its option and the allowed values.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "command/command_result.hpp"

namespace forebay::command {

/// Arguments without the name of the program.
using Words = std::span<const std::string_view>;

/// Called after all arguments are parsed and checked.
using Run = std::function<CommandResult()>;

struct Command {
  const char* name;
  const char* help;                           ///< one imperative line
  std::function<Run(CLI::App& app)> declare;  ///< adds the arguments to `app`
};

/// Parses `words`. Returns the help text if it is requested, else an empty text. Every failure is a
/// usage_error().
Result<std::string> parse(CLI::App& app, Words words);

/// Parses `words` and calls `body`, unless help is requested or the words are wrong.
CommandResult run(CLI::App& app, Words words, const Run& body);
/// The same for the one of `commands` that the first word names.
CommandResult run(CLI::App& app, Words words, std::span<const Command> commands);

/// kInvalidArgument with operation "usage".
Error usage_error(const std::string& cause);

/// Fails the parsing with a usage error. Only in parsers of values.
[[noreturn]] void reject(const std::string& cause);

/// Inclusive bounds.
struct Bounds {
  std::uint64_t min = 0;
  std::uint64_t max = UINT64_MAX;
};
/// From `min` to below `end`.
struct RealBounds {
  double min = -std::numeric_limits<double>::infinity();
  double end = std::numeric_limits<double>::infinity();
};

/// A value of option `name`, or reject().
std::uint64_t parse_number(const std::string& name, const std::string& value, Bounds bounds);
std::uint64_t parse_bytes(const std::string& name, const std::string& value, Bounds bounds);

// Each of these adds an option, or a positional argument if `name` has no dashes. Targets must
// outlive `app`, and keep their value if the argument is absent.

/// An option without a value.
CLI::Option* add_flag(CLI::App& app,
                      const std::string& name,
                      std::function<void()> apply,
                      const std::string& help);
/// An option that may be repeated. `type` is the name of a value in the help.
CLI::Option* add_values(CLI::App& app,
                        const std::string& name,
                        const std::string& type,
                        std::function<void(const std::vector<std::string>&)> parse_all,
                        const std::string& help);
CLI::Option* add_value(CLI::App& app,
                       const std::string& name,
                       const std::string& type,
                       std::function<void(const std::string&)> parse_one,
                       const std::string& help);
/// A text that is not empty.
CLI::Option* add_text(CLI::App& app,
                      const std::string& name,
                      const std::string& type,
                      std::string& target,
                      const std::string& help);
/// A positional argument that is required.
CLI::Option* add_path(CLI::App& app,
                      const std::string& name,
                      std::string& target,
                      const std::string& help);
/// Names separated by newlines, because they may contain commas.
CLI::Option* add_names(CLI::App& app,
                       const std::string& name,
                       std::vector<std::string>& target,
                       const std::string& help);
CLI::Option* add_real(CLI::App& app,
                      const std::string& name,
                      double& target,
                      RealBounds bounds,
                      const std::string& help);
/// Fails with all `choices` if `value` is none of them; else returns its index.
std::size_t find_choice(const std::string& name,
                        const std::string& value,
                        std::span<const std::string> choices);

template <class Target, class Value>
CLI::Option* add_flag(
    CLI::App& app, const std::string& name, Target& target, Value value, const std::string& help) {
  return add_flag(app, name, [&target, value] { target = value; }, help);
}

template <class Mode>
CLI::Option* add_progress(CLI::App& app, Mode& mode) {
  return add_flag(app, "--progress", mode, Mode::kJsonLines,
                  "Print progress as JSON lines to standard error");
}

/// Number may be optional.
template <class Number>
void assign(Number& target, std::uint64_t value) {
  target = static_cast<Number>(value);
}
template <class Number>
void assign(std::optional<Number>& target, std::uint64_t value) {
  target = static_cast<Number>(value);
}

/// A whole number within `bounds`, which the type of `target` must be able to hold.
template <class Number>
CLI::Option* add_number(CLI::App& app,
                        const std::string& name,
                        Number& target,
                        Bounds bounds,
                        const std::string& help) {
  const auto parse_one = [&target, name, bounds](const std::string& value) {
    assign(target, parse_number(name, value, bounds));
  };
  CLI::Option* const option = add_value(app, name, "N", parse_one, help);
  if constexpr (std::is_integral_v<Number>) option->default_str(std::to_string(target));
  return option;
}

/// A number of bytes within `bounds`, in the syntax of forebay::parse_size().
template <class Number>
CLI::Option* add_size(CLI::App& app,
                      const std::string& name,
                      Number& target,
                      Bounds bounds,
                      const std::string& help) {
  const auto parse_one = [&target, name, bounds](const std::string& value) {
    assign(target, parse_bytes(name, value, bounds));
  };
  return add_value(app, name, "SIZE", parse_one, help);
}

/// One of several words. The target may be optional.
template <class Choice, class Target>
CLI::Option* add_choice(CLI::App& app,
                        const std::string& name,
                        Target& target,
                        const std::vector<std::pair<std::string, Choice>>& choices,
                        const std::string& help) {
  std::vector<std::string> names;
  std::vector<Choice> values;
  for (const auto& [word, value] : choices) {
    names.push_back(word);
    values.push_back(value);
  }
  const std::string type = CLI::detail::join(names, "|");
  const auto parse_one = [&target, name, names, values](const std::string& value) {
    target = values[find_choice(name, value, names)];
  };
  return add_value(app, name, type, parse_one, help);
}

}  // namespace forebay::command
