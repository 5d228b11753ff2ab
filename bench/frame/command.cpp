// SPDX-License-Identifier: Apache-2.0
// Parsing the command line by hand: six words, not worth a library that costs seconds to compile.
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
bool take_flag(std::string_view argument, Command& command) {
  if (argument == "--quick") {
    command.effort = Effort::kQuick;
  } else if (argument == "--full") {
    command.effort = Effort::kFull;
  } else if (argument == "--progress") {
    command.telling = Telling::kTell;
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

// True if `option` takes a value, which it now has.
bool take_value(std::string_view option, const std::string& value, Command& command) {
  if (option == "--dir") {
    command.parent = value;
  } else if (option == "--only") {
    command.only = split_ids(value);
  } else if (option == "--so-far") {
    command.so_far = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace

const char* const kUsage =
    "usage: forebay-bench NAME [--quick | --full] [--progress] [--dir DIR] [--only ID,...]\n"
    "                     [--so-far FILE]\n"
    "       forebay-bench --list\n"
    "       forebay-bench --clean [--dir DIR]\n"
    "Prints one JSON document. --progress writes JSON lines to standard error. --so-far has FILE\n"
    "hold that document after each result, for when the run is ended. --clean removes from DIR\n"
    "what killed runs have left.\n";

tl::expected<Command, std::string> parse_command(std::span<const char* const> arguments) {
  Command command;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (take_flag(argument, command)) continue;
    if (argument.rfind('-', 0) != 0) {
      if (!command.name.empty()) return Failure("only one benchmark at a time: " + argument);
      command.name = argument;
      continue;
    }
    const bool has_value = i + 1 < arguments.size();
    if (!take_value(argument, has_value ? arguments[i + 1] : "", command)) {
      return Failure("unknown option " + argument);
    }
    if (!has_value) return Failure(argument + " needs a value");
    ++i;
  }
  if (contains(arguments, "--quick") && contains(arguments, "--full"))
    return Failure("--quick excludes --full");
  if (command.action == Action::kRun && command.name.empty()) return Failure("which benchmark?");
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
