// SPDX-License-Identifier: Apache-2.0
// The program forebay-model: evaluates the models for given numbers, as one JSON document. `forebay
// model` calls it and prints tables and figures.
#include <cstdio>
#include <string>
#include <vector>

#include "tools/model/arguments.hpp"
#include "tools/model/gain_document.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::model_tool {
namespace {

int run(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--help"}) {
    std::fputs(kUsage, stdout);
    return probe::kExitSuccess;
  }
  const auto query = parse_gain(words);
  if (!query) return probe::print_usage_error(query.error().cause());
  return probe::print_document(describe_gain(*query));
}

}  // namespace

int run_program(int count, char** words) { return run({words + 1, words + count}); }

}  // namespace forebay::model_tool
