// SPDX-License-Identifier: Apache-2.0
// The program forebay-machine: prints the content of machine files, as one JSON document. `forebay
// machine` calls it and prints tables.

#include <array>
#include <memory>
#include <string>

#include "base/config.hpp"
#include "command/cli.hpp"
#include "tools/machine/document.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::machine_tool {
namespace {

command::CommandResult print(const Result<nlohmann::json>& document) {
  return {.exit_code = probe::print_document(document)};
}

command::Run declare_list(CLI::App&) {
  return [] { return print(list_machines(model::machine_directories(process_environment()))); };
}

command::Run declare_show(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  command::add_path(app, "MACHINE", *name, "Name of a machine, or its file");
  return [name] {
    return print(show_machine(*name, model::machine_directories(process_environment())));
  };
}

const std::array kCommands{
    command::Command{"list", "List all machine files.", declare_list},
    command::Command{"show", "Print the content of a machine file.", declare_show},
};

command::CommandResult run(command::Words words) {
  CLI::App app("Print the content of machine files as one JSON document.", "forebay-machine");
  return command::run(app, words, kCommands);
}

}  // namespace

int run_program(int count, char** words) { return command::run_and_print(count, words, run); }

}  // namespace forebay::machine_tool
