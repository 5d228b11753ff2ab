// SPDX-License-Identifier: Apache-2.0
// Shared by all benchmark programs: everything but what a process must do before and after.
#pragma once

#include <span>

#include "bench/frame/command.hpp"

namespace forebay::bench {

/// Executes a command, writes one JSON document to standard output, and returns the exit code.
int run_command(const Command& command);

/// The same for a command line.
int run_program(std::span<const char* const> words);

}  // namespace forebay::bench
