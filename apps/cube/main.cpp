// SPDX-License-Identifier: Apache-2.0
// The program forebay-cube: one command, one JSON document on standard output. README.md beside it
// is the contract with the command line of Forebay, which draws and prints for people.
#include <cstdio>
#include <exception>
#include <vector>

#include "cube/commands.hpp"

int main(int argument_count, char** argument_values) {
  const std::vector<std::string_view> words(argument_values + 1, argument_values + argument_count);
  try {
    const forebay::command::Outcome outcome = forebay::cube::run_command(words);
    std::fputs(outcome.output.c_str(), stdout);
    std::fputs(outcome.errors.c_str(), stderr);
    return std::fflush(stdout) == 0 ? outcome.exit_code : forebay::command::kExitFailed;
  } catch (const std::exception& caught) {
    const std::string text = forebay::command::describe_exception(caught.what());
    std::fputs(text.c_str(), stderr);
    return forebay::command::kExitFailed;
  }
}
