// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end, for benchmarks that mount or compare with it.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

namespace forebay::bench {

/// Environment variables: "NAME=value".
using EnvironmentVariables = std::vector<std::string>;

/// Runs `words` (the program first: a path, or a name in PATH) with `settings` in its environment,
/// and waits for its end. It prints only to standard error of this process. Returns an Error if it
/// cannot be started or fails. The Error has the program's name, and as path the last word, or that
/// word's option value.
Status run_child(const std::vector<std::string>& words, const EnvironmentVariables& settings = {});

/// The path of a program in PATH; empty if none.
std::string find_program(const std::string& name);

}  // namespace forebay::bench
