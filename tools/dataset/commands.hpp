// SPDX-License-Identifier: Apache-2.0
// The words of forebay-dataset, from the command line to the document.
#pragma once

#include <span>
#include <string_view>

#include "command/report.hpp"

namespace forebay::dataset_tool {

/// Does what the words say. `read` writes to standard output itself and has no document.
command::Outcome run_command(std::span<const std::string_view> words);

/// What main() does: runs a command and prints its outcome. Returns the exit code.
int run_program(int count, char** words);

}  // namespace forebay::dataset_tool
