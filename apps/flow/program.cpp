// SPDX-License-Identifier: Apache-2.0
// The program forebay-flow: one command, one JSON document on standard output; its ranks are
// threads. README.md in this directory is its contract.
#include <memory>

#include "flow/commands.hpp"
#include "flow/thread_solver_comm.hpp"

namespace forebay::flow {

int run_program(int count, char** args) {
  const auto make_runtime = [](const RuntimeOptions& options) {
    return std::make_unique<Runtime>(options);
  };
  const RankLauncher ranks{RankLauncher::Kind::kThreads, run_thread_ranks, make_runtime};
  return command::run_and_print(count, args, [&](std::span<const std::string_view> arguments) {
    return run_command(arguments, ranks);
  });
}

}  // namespace forebay::flow
