// SPDX-License-Identifier: Apache-2.0
// The program forebay-model: evaluates the models for given numbers, as one JSON document. `forebay
// model` calls it and prints tables and figures.
#include <array>
#include <memory>

#include "tools/model/arguments.hpp"
#include "tools/model/gain_document.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::model_tool {
namespace {

command::Run declare_gain(CLI::App& app) {
  const auto query = std::make_shared<GainQuery>();
  add_gain(app, *query);
  return [query] {
    return command::CommandResult{.exit_code = probe::print_document(describe_gain(*query))};
  };
}

const std::array kCommands{
    command::Command{"gain", "Compute the gain of writing behind a computation.", declare_gain}};

command::CommandResult run(command::Words words) {
  CLI::App app("Evaluate the models for given numbers; print one JSON document.", "forebay-model");
  return command::run(app, words, kCommands);
}

}  // namespace

int run_program(int count, char** words) { return command::run_and_print(count, words, run); }

}  // namespace forebay::model_tool
