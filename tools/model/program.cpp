// SPDX-License-Identifier: Apache-2.0
// The program forebay-model: evaluates the models for given numbers, as one JSON document, tunes
// candidates that its caller measures, and reads and merges tuning profiles. `forebay model` prints
// its results as tables and figures.
#include <array>
#include <iostream>
#include <memory>
#include <string>

#include "base/config.hpp"
#include "model/machine.hpp"
#include "tools/model/arguments.hpp"
#include "tools/model/gain_document.hpp"
#include "tools/model/profile_document.hpp"
#include "tools/model/reads.hpp"
#include "tools/model/steps.hpp"
#include "tools/model/tune_session.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::model_tool {
namespace {

command::CommandResult print(const Result<nlohmann::json>& document) {
  return {.exit_code = probe::print_document(document)};
}

command::Run declare_gain(CLI::App& app) {
  const auto query = std::make_shared<GainQuery>();
  add_gain(app, *query);
  return [query] { return print(describe_gain(*query)); };
}

command::Run declare_steps(CLI::App& app) {
  const auto query = std::make_shared<StepsQuery>();
  command::add_path(app, "request", query->request, "The request, a JSON document")->required();
  command::add_progress(app, query->progress_mode);
  return [query] {
    return print(describe_steps(*query, model::machine_directories(process_environment())));
  };
}

command::Run declare_reads(CLI::App& app) {
  const auto request = std::make_shared<std::string>();
  command::add_path(app, "request", *request, "The request, a JSON document")->required();
  return [request] {
    return print(describe_reads(*request, model::machine_directories(process_environment())));
  };
}

command::Run declare_tune(CLI::App&) {
  return [] {
    const Status status = tune(std::cin, std::cout);
    return status ? command::CommandResult() : command::make_failure(status.error());
  };
}

command::Run declare_show_profile(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  command::add_path(app, "profile", *path, "The tuning profile")->required();
  return [path] { return print(show_profile(*path)); };
}

command::Run declare_merge_profile(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  const auto added = std::make_shared<std::string>();
  command::add_path(app, "profile", *path, "The tuning profile to extend or create")->required();
  command::add_path(app, "added", *added, "The tuning profile with newer entries")->required();
  return [path, added] { return print(merge_profile(*path, *added)); };
}

const std::array kCommands{
    command::Command{"gain", "Compute the gain of writing behind a computation.", declare_gain},
    command::Command{"steps", "Compute time and memory of plans for the steps of a job.",
                     declare_steps},
    command::Command{"reads", "Compute time and memory of reading a file by many tasks.",
                     declare_reads},
    command::Command{"tune", "Propose candidates; read their measured costs from standard input.",
                     declare_tune},
    command::Command{"show-profile", "Check and print a tuning profile.", declare_show_profile},
    command::Command{"merge-profile", "Merge a tuning profile into another, and print it.",
                     declare_merge_profile}};

command::CommandResult run(command::Words words) {
  CLI::App app("Evaluate the models for given numbers; print JSON.", "forebay-model");
  return command::run(app, words, kCommands);
}

}  // namespace

int run_program(int count, char** words) { return command::run_and_print(count, words, run); }

}  // namespace forebay::model_tool
