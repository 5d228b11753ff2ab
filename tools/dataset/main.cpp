// SPDX-License-Identifier: Apache-2.0
// The program forebay-dataset: one command, one JSON document on standard output; `read` writes
// blocks there. `forebay ls|verify|repair|diff|export` call it and print for people.
#include <cstdio>
#include <exception>
#include <vector>

#include "tools/dataset/commands.hpp"

int main(int argument_count, char** argument_values) {
  const std::vector<std::string_view> words(argument_values + 1, argument_values + argument_count);
  try {
    const forebay::command::Outcome outcome = forebay::dataset_tool::run_command(words);
    std::fputs(outcome.output.c_str(), stdout);
    std::fputs(outcome.errors.c_str(), stderr);
    return std::fflush(stdout) == 0 ? outcome.exit_code : forebay::command::kExitFailed;
  } catch (const std::exception& caught) {
    const std::string text = forebay::command::describe_exception(caught.what());
    std::fputs(text.c_str(), stderr);
    return forebay::command::kExitFailed;
  }
}
