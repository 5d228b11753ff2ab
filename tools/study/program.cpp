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
  if (!question) {
    std::fprintf(stderr, "%s\n", probe::usage_error_line(question.error().cause()).c_str());
    return probe::kExitUsage;
  }
  const auto document = describe(*question, model::machine_folders(process_environment()));
  if (!document) {
    std::fprintf(stderr, "%s\n", probe::error_line(document.error()).c_str());
    return probe::kExitFailed;
  }
  using Handler = nlohmann::json::error_handler_t;
  std::puts(document->dump(2, ' ', false, Handler::replace).c_str());
  return probe::kExitDone;
}

}  // namespace

int run_program(int count, char** words) { return run({words + 1, words + count}); }

}  // namespace forebay::study
