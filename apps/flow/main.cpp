// SPDX-License-Identifier: Apache-2.0
// The program forebay-flow: one command, one JSON document on standard output; its ranks are
// threads. README.md beside it is the contract.
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "flow/commands.hpp"
#include "flow/thread_team.hpp"

int main(int argument_count, char** argument_values) {
  using namespace forebay;
  const std::vector<std::string_view> words(argument_values + 1, argument_values + argument_count);
  try {
    const auto make_runtime = [](const RuntimeOptions& options) {
      return std::make_unique<Runtime>(options);
    };
    const flow::Ranks ranks{flow::Ranks::Kind::kThreads, flow::run_as_threads, make_runtime};
    const command::Outcome outcome = flow::run_command(words, ranks);
    std::fputs(outcome.output.c_str(), stdout);
    std::fputs(outcome.errors.c_str(), stderr);
    return std::fflush(stdout) == 0 ? outcome.exit_code : command::kExitFailed;
  } catch (const std::exception& caught) {
    const std::string text = command::describe_exception(caught.what());
    std::fputs(text.c_str(), stderr);
    return command::kExitFailed;
  }
}
