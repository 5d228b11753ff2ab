// SPDX-License-Identifier: Apache-2.0
// What the programs of benchmarks have in common: all but what a process must do before and after.
#pragma once

#include <span>

namespace forebay::bench {

/// Does what the words of a command line say (command.hpp), writes one JSON document to standard
/// output, and returns the exit code.
int run_program(std::span<const char* const> words);

}  // namespace forebay::bench
