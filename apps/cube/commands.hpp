// SPDX-License-Identifier: Apache-2.0
// The commands of forebay-cube, from arguments to documents, without printing, so that tests can
// run them.
#pragma once

#include <span>
#include <string_view>

#include "command/command_result.hpp"

namespace forebay::cube {

/// Runs a command: its name, its files, its options. Progress goes to standard error meanwhile.
command::CommandResult run_command(std::span<const std::string_view> args);

/// The body of main(): runs a command and prints its result. Returns the exit code.
int run_program(int count, char** args);

}  // namespace forebay::cube
