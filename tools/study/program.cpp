// SPDX-License-Identifier: Apache-2.0
// The program forebay-study: simulates a checkpoint on machine files with many plans, as one JSON
// document. `forebay study` calls it and prints tables and figures.
#include <cstdio>
#include <string>
#include <vector>

#include "tools/probe/messages.hpp"
#include "tools/study/arguments.hpp"
#include "tools/study/document.hpp"

namespace forebay::study {
namespace {

int run(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--help"}) {
    std::fputs(kUsage, stdout);
    return probe::kExitSuccess;
  }
  const auto request = parse_checkpoint(words);
  if (!request) return probe::print_usage_error(request.error().cause());
  return probe::print_document(
      describe(*request, model::machine_directories(process_environment())));
}

}  // namespace

int run_program(int count, char** words) { return run({words + 1, words + count}); }

}  // namespace forebay::study
