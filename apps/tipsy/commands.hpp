// SPDX-License-Identifier: Apache-2.0
// The commands of forebay-tipsy: from arguments to a document, without printing, so that tests can
// run them.
#pragma once

#include <span>
#include <string_view>

#include "command/command_result.hpp"

namespace forebay::tipsy {

/// Runs `args`: a command, a path, options. Meanwhile progress goes to standard error.
command::CommandResult run_command(std::span<const std::string_view> args);

/// Runs a command and prints its outcome, as main() does. Returns the exit code.
int run_program(int count, char** args);

}  // namespace forebay::tipsy
