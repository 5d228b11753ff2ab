// SPDX-License-Identifier: Apache-2.0
#include "bench/frame/command.hpp"

#include <sstream>
#include <string_view>
#include <vector>

#include "command/cli.hpp"

namespace forebay::bench {
namespace {

std::set<std::string> split_ids(const std::string& text) {
  std::set<std::string> ids;
  std::istringstream words(text);
  for (std::string id; std::getline(words, id, ',');) {
    if (!id.empty()) ids.insert(id);
  }
  return ids;
}

void add_options(CLI::App& app, Command& command) {
  using command::add_flag;
  using command::add_text;
  add_text(app, "NAME", "", command.name, "The benchmark");
  add_flag(app, "--quick", command.effort, Effort::kQuick,
           "Use small files, to check that it works")
      ->excludes(add_flag(app, "--full", command.effort, Effort::kFull,
                          "Use files that are far larger than caches"));
  add_text(app, "--dir", "DIRECTORY", command.parent, "Directory to measure in [.]");
  const auto parse_ids = [&command](const std::string& value) { command.only = split_ids(value); };
  command::add_value(app, "--only", "ID,...", parse_ids, "Measure only these results");
  add_text(app, "--partial-results", "FILE", command.partial_results,
           "Write the document to FILE after each result, in case the run is ended");
  command::add_progress(app, command.progress_mode);
  add_flag(app, "--list", command.action, Action::kList, "List the benchmarks");
  add_flag(app, "--machine", command.action, Action::kMachine,
           "Print the facts about the machine that results have, and its load in a second");
  add_flag(app, "--clean", command.action, Action::kClean,
           "Remove from DIRECTORY what killed runs have left");
}

}  // namespace

Result<Command> parse_command(std::span<const char* const> words, RanksOption ranks_option) {
  Command command;
  CLI::App app("Run a benchmark; print one JSON document.", "forebay-bench");
  add_options(app, command);
  if (ranks_option == RanksOption::kPresent)
    command::add_number(app, "--ranks", command.ranks, {1, UINT32_MAX}, "Active ranks [all]");
  const std::vector<std::string_view> views(words.begin(), words.end());
  Result<std::string> help = command::parse(app, views);
  if (!help) return failure(help.error());
  command.help = std::move(*help);
  if (!command.help.empty()) command.action = Action::kHelp;
  if (command.action == Action::kRun && command.name.empty())
    return failure(command::usage_error("no benchmark; name one, or use --list"));
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
