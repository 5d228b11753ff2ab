// SPDX-License-Identifier: Apache-2.0
// The commands of forebay-cube, from words to documents, without printing: so tests run them too.
#pragma once

#include <span>
#include <string_view>

#include "command/report.hpp"

namespace forebay::cube {

/// Runs `words`: a command, its files, options. Progress goes to standard error meanwhile.
command::Outcome run_command(std::span<const std::string_view> words);

/// What main() does: runs a command and prints its outcome. Returns the exit code.
int run_program(int count, char** words);

}  // namespace forebay::cube
