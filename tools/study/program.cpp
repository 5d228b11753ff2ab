// SPDX-License-Identifier: Apache-2.0
// The program forebay-study: simulates a checkpoint on machine files with many plans, as one JSON
// document. `forebay study` calls it and prints tables and figures.
#include <array>
#include <memory>

#include "tools/probe/messages.hpp"
#include "tools/study/arguments.hpp"
#include "tools/study/document.hpp"
#include "tools/study/steps.hpp"

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

command::Run declare_steps(CLI::App& app) {
  const auto request = std::make_shared<StepsRequest>();
  command::add_path(app, "kernel", request->kernel, "The kernel, a JSON document")->required();
  command::add_text(app, "--machine", "NAME|FILE", request->machine, "Machine")->required();
  const auto add_targets = [request](const std::vector<std::string>& values) {
    for (const std::string& value : values)
      request->targets.push_back(
          static_cast<std::uint32_t>(command::parse_number("--targets", value, {1, 65536})));
  };
  command::add_values(app, "--targets", "N", add_targets, "Servers of a file; may be repeated")
      ->required();
  command::add_flag(app, "--create-ahead", request->create_mode, CreateMode::kAhead,
                    "Create files before the step begins");
  command::add_progress(app, request->progress_mode);
  return [request] {
    const auto document =
        describe_steps(*request, model::machine_directories(process_environment()));
    return command::CommandResult{.exit_code = probe::print_document(document)};
  };
}

const std::array kCommands{
    command::Command{"checkpoint", "Simulate a checkpoint with each strategy.", declare_checkpoint},
    command::Command{"steps", "Simulate the steps of a kernel with gather and brigade.",
                     declare_steps}};

command::CommandResult run(command::Words words) {
  CLI::App app("Simulate checkpoints on machine files; print one JSON document.", "forebay-study");
  return command::run(app, words, kCommands);
}

}  // namespace

int run_program(int count, char** words) { return command::run_and_print(count, words, run); }

}  // namespace forebay::study
