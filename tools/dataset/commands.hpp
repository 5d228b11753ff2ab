// SPDX-License-Identifier: Apache-2.0
// The commands of forebay-dataset: from arguments to a document.
#pragma once

#include <span>
#include <string_view>

#include "command/command_result.hpp"

namespace forebay::dataset_tool {

/// Runs the command of `arguments`. `read` writes to standard output and returns no document.
command::CommandResult run_command(std::span<const std::string_view> arguments);

/// Runs a command and prints its outcome, as main() does. Returns the exit code.
int run_program(int count, char** arguments);

}  // namespace forebay::dataset_tool
