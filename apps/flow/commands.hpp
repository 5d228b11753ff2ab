// SPDX-License-Identifier: Apache-2.0
// The commands of forebay-flow and forebay-flow-mpi: from arguments to a document, without
// printing, so that tests can run them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "command/command_result.hpp"
#include "flow/solver_comm.hpp"
#include "flow/store_factory.hpp"

namespace forebay::flow {

/// How the ranks of a command are started.
struct RankLauncher {
  enum class Kind : std::uint8_t {
    kThreads,   ///< --ranks N threads are started
    kExisting,  ///< the program has its ranks already, and each calls run_command()
  } kind = Kind::kThreads;
  /// Calls `work` with a communicator: for threads in `count` threads at once, else once.
  std::function<void(std::uint32_t count, const std::function<void(SolverComm&)>& work)> run;
  /// Creates a Runtime of the existing ranks, or of this process alone if ranks are threads.
  RuntimeFactory make_runtime;
};

/// Runs `args`: a command, its store, options. Meanwhile progress goes to standard error. Rank 0
/// returns document, errors and exit code; other ranks return the exit code alone.
command::CommandResult run_command(std::span<const std::string_view> args,
                                   const RankLauncher& ranks);

}  // namespace forebay::flow
