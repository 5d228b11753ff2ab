// SPDX-License-Identifier: Apache-2.0
// The command line of forebay-bench, separate from main() so that it can be tested.
#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>

#include <tl/expected.hpp>

#include "bench/frame/benchmark.hpp"

namespace forebay::bench {

enum class Action : std::uint8_t { kHelp, kList, kClean, kRun };

struct Command {
  Action action = Action::kRun;
  std::string name;
  Effort effort = Effort::kUsual;
  ProgressMode progress_mode = ProgressMode::kSilent;
  std::filesystem::path parent = ".";  ///< the work directory is created in it
  std::set<std::string> only;
  /// Receives the document of all results so far; empty: no file.
  std::filesystem::path partial_results;
};

extern const char* const kUsage;

/// Parses arguments without the program's name; the failure is a line for the user.
tl::expected<Command, std::string> parse_command(std::span<const char* const> arguments);

/// [{"name","description"}], sorted by name.
nlohmann::json list_json(const std::map<std::string, Benchmark>& benchmarks);

}  // namespace forebay::bench
