// SPDX-License-Identifier: Apache-2.0
// The program forebay-machine: prints what machine files say, as one JSON document. `forebay
// machine` calls it and makes tables of it.
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

int print(const Result<nlohmann::json>& document) {
  if (!document) {
    std::fprintf(stderr, "%s\n", probe::error_line(document.error()).c_str());
    return probe::kExitFailed;
  }
  using Handler = nlohmann::json::error_handler_t;
  std::puts(document->dump(2, ' ', false, Handler::replace).c_str());
  return probe::kExitDone;
}

int run(const std::vector<std::string>& words) {
  const auto folders = model::machine_folders(process_environment());
  if (words == std::vector<std::string>{"list"}) return print(list_machines(folders));
  if (words.size() == 2 && words[0] == "show") return print(show_machine(words[1], folders));
  if (words == std::vector<std::string>{"--help"}) {
    std::fputs(kUsage, stdout);
    return probe::kExitDone;
  }
  const std::string complaint = "list, or show and the name or file of a machine";
  std::fprintf(stderr, "%s\n", probe::usage_error_line(complaint).c_str());
  return probe::kExitUsage;
}

}  // namespace

int run_program(int count, char** words) { return run({words + 1, words + count}); }

}  // namespace forebay::machine_tool
