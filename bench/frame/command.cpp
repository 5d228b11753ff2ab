// SPDX-License-Identifier: Apache-2.0
// Parses the command line without a library: six options do not justify seconds of compilation.
#include "bench/frame/command.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace forebay::bench {
namespace {

using Failure = tl::unexpected<std::string>;

std::set<std::string> split_ids(const std::string& text) {
  std::set<std::string> ids;
  std::istringstream words(text);
  for (std::string id; std::getline(words, id, ',');) {
    if (!id.empty()) ids.insert(id);
  }
  return ids;
}

bool contains(std::span<const char* const> arguments, std::string_view word) {
  return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
}

// True if `argument` was an option without a value.
bool parse_flag(std::string_view argument, Command& command) {
  if (argument == "--quick") {
    command.effort = Effort::kQuick;
  } else if (argument == "--full") {
    command.effort = Effort::kFull;
  } else if (argument == "--progress") {
    command.progress_mode = ProgressMode::kJsonLines;
  } else if (argument == "--list") {
    command.action = Action::kList;
  } else if (argument == "--clean") {
    command.action = Action::kClean;
  } else if (argument == "--help") {
    command.action = Action::kHelp;
  } else {
    return false;
  }
  return true;
}

// True if `option` takes a value, which is stored now.
bool parse_value(std::string_view option, const std::string& value, Command& command) {
  if (option == "--dir") {
    command.parent = value;
  } else if (option == "--only") {
    command.only = split_ids(value);
  } else if (option == "--partial-results") {
    command.partial_results = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace

const char* const kUsage =
    "usage: forebay-bench NAME [--quick | --full] [--progress] [--dir DIRECTORY] [--only ID,...]\n"
    "                     [--partial-results FILE]\n"
    "       forebay-bench --list\n"
    "       forebay-bench --clean [--dir DIRECTORY]\n"
    "Prints one JSON document. --progress writes JSON lines to standard error. --partial-results\n"
    "writes that document to FILE after each result, in case the run is ended. --clean removes "
    "from\n"
    "DIRECTORY what killed runs have left.\n";

tl::expected<Command, std::string> parse_command(std::span<const char* const> arguments) {
  Command command;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (parse_flag(argument, command)) continue;
    if (argument.rfind('-', 0) != 0) {
      if (!command.name.empty()) return Failure("only one benchmark at a time: " + argument);
      command.name = argument;
      continue;
    }
    const bool has_value = i + 1 < arguments.size();
    if (!parse_value(argument, has_value ? arguments[i + 1] : "", command)) {
      return Failure("unknown option " + argument);
    }
    if (!has_value) return Failure(argument + " needs a value");
    ++i;
  }
  if (contains(arguments, "--quick") && contains(arguments, "--full"))
    return Failure("--quick excludes --full");
  if (command.action == Action::kRun && command.name.empty())
    return Failure("no benchmark; name one, or use --list");
  return command;
}

nlohmann::json list_json(const std::map<std::string, Benchmark>& benchmarks) {
  auto list = nlohmann::json::array();
  for (const auto& [name, benchmark] : benchmarks) {
    list.push_back({{"name", name}, {"description", benchmark.description}});
  }
  return list;
}

}  // namespace forebay::bench
