// SPDX-License-Identifier: Apache-2.0
// The program forebay-flow: one command, one JSON document on standard output; its ranks are
// threads. README.md beside it is the contract.
#include <memory>

#include "flow/commands.hpp"
#include "flow/thread_team.hpp"

namespace forebay::flow {

int run_program(int count, char** words) {
  const auto make_runtime = [](const RuntimeOptions& options) {
    return std::make_unique<Runtime>(options);
  };
  const Ranks ranks{Ranks::Kind::kThreads, run_as_threads, make_runtime};
  return command::run_and_print(
      count, words, [&](std::span<const std::string_view> all) { return run_command(all, ranks); });
}

}  // namespace forebay::flow
