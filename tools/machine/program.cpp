// SPDX-License-Identifier: Apache-2.0
// The program forebay-machine: prints the content of machine files, as one JSON document. `forebay
// machine` calls it and prints tables.
#include <forebay/config.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include "tools/machine/document.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::machine_tool {
namespace {

const char* const kUsage =
    "usage: forebay-machine list\n"
    "       forebay-machine show NAME-OR-FILE\n"
    "Prints one JSON document.\n";

int run(const std::vector<std::string>& words) {
  const auto directories = model::machine_directories(process_environment());
  if (words == std::vector<std::string>{"list"})
    return probe::print_document(list_machines(directories));
  if (words.size() == 2 && words[0] == "show")
    return probe::print_document(show_machine(words[1], directories));
  if (words == std::vector<std::string>{"--help"}) {
    std::fputs(kUsage, stdout);
    return probe::kExitSuccess;
  }
  return probe::print_usage_error(
      "no command; write list, or show and the name or file of a machine");
}

}  // namespace

int run_program(int count, char** words) { return run({words + 1, words + count}); }

}  // namespace forebay::machine_tool
