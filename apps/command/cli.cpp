// SPDX-License-Identifier: Apache-2.0
#include "command/cli.hpp"

#include <forebay/range.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

namespace forebay::command {

namespace {

template <class Number>
std::optional<Number> parse_whole(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

/// "a", "a or b", "a, b or c".
std::string list_of(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " or ";
    text += words[i];
  }
  return text;
}

std::string describe(RealBounds bounds) {
  if (std::isfinite(bounds.end))
    return fmt::format("a number from {} to below {}", bounds.min, bounds.end);
  return std::isfinite(bounds.min) ? fmt::format("a number of {} or more", bounds.min) : "a number";
}

/// The first argument that no option or positional argument accepts; empty if there is none.
std::string first_unknown(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  const auto found = std::ranges::find_if(words, [](const auto& word) { return word != "--"; });
  return found == words.end() ? "" : *found;
}

std::string describe(const CLI::ParseError& error, const CLI::App& app) {
  const std::string unknown = first_unknown(app);
  if (unknown.starts_with("--")) return "unknown option " + unknown;
  if (unknown.starts_with('-'))
    return fmt::format("unknown option {0}; write ./{0} for a file of that name", unknown);
  if (app.get_require_subcommand_min() > 0 && app.get_subcommands().empty()) {
    std::vector<std::string> names;
    for (const CLI::App* const command : app.get_subcommands({}))
      names.push_back(command->get_name());
    const std::string given = unknown.empty() ? "" : ", not '" + unknown + "'";
    return "a command is required: " + list_of(names) + given;
  }
  const std::string text = error.what();
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (code == CLI::ExitCodes::ExtrasError) return "unexpected argument '" + unknown + "'";
  // add_value() rejects a second value, so that a mismatch is a missing value.
  if (code == CLI::ExitCodes::ArgumentMismatch)
    return text.substr(0, text.find(':')) + " needs a value";
  return text;
}

}  // namespace

Error usage_error(const std::string& cause) {
  return Error({.kind = ErrorClass::kInvalidArgument, .operation = "usage", .cause = cause});
}

void reject(const std::string& cause) { throw CLI::ValidationError(cause); }

Result<std::string> parse(CLI::App& app, Words words) {
  // CLI11 would take the next word as the value of "--name=".
  for (const std::string_view word : words) {
    if (word == "--") break;
    if (word.starts_with("--") && word.ends_with('='))
      return failure(usage_error(fmt::format("{} needs a value", word.substr(0, word.size() - 1))));
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return std::string{};
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ParseError& error) {
    return failure(usage_error(describe(error, app)));
  }
}

CommandResult run(CLI::App& app, Words words, const Run& body) {
  const Result<std::string> help = parse(app, words);
  if (!help) return make_failure(help.error());
  return help->empty() ? body() : CommandResult{.output = *help};
}

CommandResult run(CLI::App& app, Words words, std::span<const Command> commands) {
  app.require_subcommand(1);
  Run chosen;
  for (const Command& command : commands) {
    CLI::App* const added = app.add_subcommand(command.name, command.help);
    added->callback([&chosen, body = command.declare(*added)] { chosen = body; });
  }
  return run(app, words, [&chosen] { return chosen(); });
}

std::uint64_t parse_number(const std::string& name, const std::string& value, Bounds bounds) {
  const auto number = parse_whole<std::uint64_t>(value);
  if (number && *number >= bounds.min && *number <= bounds.max) return *number;
  reject(fmt::format("{} must be a whole number from {} to {}, not '{}'", name, bounds.min,
                     bounds.max, value));
}

std::uint64_t parse_bytes(const std::string& name, const std::string& value, Bounds bounds) {
  const Result<std::uint64_t> size = parse_size(value);
  if (!size) reject(fmt::format("{}: {}", name, size.error().cause()));
  if (*size >= bounds.min && *size <= bounds.max) return *size;
  reject(
      fmt::format("{} must be from {} to {} bytes, not '{}'", name, bounds.min, bounds.max, value));
}

std::size_t find_choice(const std::string& name,
                        const std::string& value,
                        std::span<const std::string> choices) {
  const auto found = std::ranges::find(choices, value);
  if (found == choices.end())
    reject(fmt::format("{} must be {}, not '{}'", name, list_of(choices), value));
  return static_cast<std::size_t>(found - choices.begin());
}

CLI::Option* add_values(CLI::App& app,
                        const std::string& name,
                        const std::string& type,
                        std::function<void(const std::vector<std::string>&)> parse_all,
                        const std::string& help) {
  const auto parse = [parse_all = std::move(parse_all)](const CLI::results_t& values) {
    parse_all(values);
    return true;
  };
  CLI::Option* const option = app.add_option(name, parse, help);
  return option->type_name(type)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* add_value(CLI::App& app,
                       const std::string& name,
                       const std::string& type,
                       std::function<void(const std::string&)> parse_one,
                       const std::string& help) {
  const auto parse_all = [name, parse_one = std::move(parse_one)](const auto& values) {
    if (values.size() > 1) reject(name + " is given twice");
    parse_one(values.front());
  };
  return add_values(app, name, type, parse_all, help);
}

CLI::Option* add_flag(CLI::App& app,
                      const std::string& name,
                      std::function<void()> apply,
                      const std::string& help) {
  const auto parse_one = [name, apply = std::move(apply)](const std::string& value) {
    if (value != "true") reject(name + " takes no value");
    apply();
  };
  return add_value(app, name, "", parse_one, help)->expected(0);
}

CLI::Option* add_text(CLI::App& app,
                      const std::string& name,
                      const std::string& type,
                      std::string& target,
                      const std::string& help) {
  const auto parse_one = [&target, name](const std::string& value) {
    if (value.empty()) reject(name + " needs a value");
    target = value;
  };
  return add_value(app, name, type, parse_one, help);
}

CLI::Option* add_path(CLI::App& app,
                      const std::string& name,
                      std::string& target,
                      const std::string& help) {
  return add_text(app, name, "", target, help)->required();
}

CLI::Option* add_names(CLI::App& app,
                       const std::string& name,
                       std::vector<std::string>& target,
                       const std::string& help) {
  const auto parse_one = [&target](const std::string& value) {
    std::istringstream lines(value);
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) target.push_back(line);
  };
  return add_value(app, name, "NAMES", parse_one, help);
}

CLI::Option* add_real(CLI::App& app,
                      const std::string& name,
                      double& target,
                      RealBounds bounds,
                      const std::string& help) {
  const auto parse_one = [&target, name, bounds](const std::string& value) {
    const auto number = parse_whole<double>(value);
    if (!number || !(*number >= bounds.min && *number < bounds.end))
      reject(fmt::format("{} must be {}, not '{}'", name, describe(bounds), value));
    target = *number;
  };
  return add_value(app, name, "X", parse_one, help);
}

}  // namespace forebay::command
