// SPDX-License-Identifier: Apache-2.0
// The program forebay-study: simulates a checkpoint on machine files with many plans, as one JSON
// document. `forebay study` calls it and prints tables and figures.
#include <array>
#include <memory>

#include "tools/probe/messages.hpp"
#include "tools/study/arguments.hpp"
#include "tools/study/document.hpp"

namespace forebay::study {
namespace {

command::Run declare_checkpoint(CLI::App& app) {
  const auto request = std::make_shared<StudyRequest>();
  add_checkpoint(app, *request);
  return [request] {
    const auto document = describe(*request, model::machine_directories(process_environment()));
    return command::CommandResult{.exit_code = probe::print_document(document)};
  };
}

const std::array kCommands{command::Command{
    "checkpoint", "Simulate a checkpoint with each strategy.", declare_checkpoint}};

command::CommandResult run(command::Words words) {
  CLI::App app("Simulate checkpoints on machine files; print one JSON document.", "forebay-study");
  return command::run(app, words, kCommands);
}

}  // namespace

int run_program(int count, char** words) { return command::run_and_print(count, words, run); }

}  // namespace forebay::study
