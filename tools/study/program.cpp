// SPDX-License-Identifier: Apache-2.0
// The program forebay-study: a checkpoint played on machine files by many plans, as one JSON
// document. `forebay study` calls it and makes tables and pictures of it.
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
    return probe::kExitDone;
  }
  const auto question = parse_checkpoint(words);
  if (!question) return probe::print_usage_error(question.error().cause());
  return probe::print_document(describe(*question, model::machine_folders(process_environment())));
}

}  // namespace

int run_program(int count, char** words) { return run({words + 1, words + count}); }

}  // namespace forebay::study
