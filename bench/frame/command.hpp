// SPDX-License-Identifier: Apache-2.0
// The command line of forebay-bench, separate from main() so that it can be tested.
#pragma once

#include <forebay/error.hpp>

#include <optional>
#include <set>
#include <span>
#include <string>

#include "bench/frame/benchmark.hpp"

namespace forebay::bench {

enum class Action : std::uint8_t { kHelp, kList, kMachine, kClean, kRun };

struct Command {
  Action action = Action::kRun;
  std::string name;
  Effort effort = Effort::kUsual;
  ProgressMode progress_mode = ProgressMode::kSilent;
  std::string parent = ".";  ///< the work directory is created in it
  std::set<std::string> only;
  /// Receives the document of all results so far; empty: no file.
  std::string partial_results;
  std::optional<std::uint32_t> ranks;  ///< active ranks; absent: all
  std::string help;                    ///< the text of Action::kHelp

  /// False for listing and help, which need no launcher.
  bool needs_ranks() const { return action == Action::kRun || action == Action::kClean; }
};

/// Whether a program has the option --ranks.
enum class RanksOption : std::uint8_t { kAbsent, kPresent };

/// Parses arguments without the program's name. The cause of an Error is a line for the user.
Result<Command> parse_command(std::span<const char* const> words,
                              RanksOption ranks_option = RanksOption::kAbsent);

/// [{"name","description"}], sorted by name.
nlohmann::json list_json(const std::map<std::string, Benchmark>& benchmarks);

}  // namespace forebay::bench
