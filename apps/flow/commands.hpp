// SPDX-License-Identifier: Apache-2.0
// The commands of forebay-flow and forebay-flow-mpi, from words to documents, without printing: so
// tests run them too.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "command/report.hpp"
#include "flow/stores.hpp"
#include "flow/team.hpp"

namespace forebay::flow {

/// Where a command's ranks come from.
struct Ranks {
  enum class Kind : std::uint8_t {
    kThreads,  ///< --ranks N are made
    kThese,    ///< the program has its ranks already, and each calls run_command()
  } kind = Kind::kThreads;
  /// Calls the work with a team: for threads `count` times at once, else once.
  std::function<void(std::uint32_t count, const std::function<void(Team&)>& work)> run;
  /// Of the ranks that the program has, or of this process alone where they are threads.
  RuntimeMaker make_runtime;
};

/// Runs `words`: a command, its store, options. Progress goes to standard error meanwhile. What
/// belongs to rank 0 is in the outcome; on other ranks there is the exit code alone.
command::Outcome run_command(std::span<const std::string_view> words, const Ranks& ranks);

}  // namespace forebay::flow
