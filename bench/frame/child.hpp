// SPDX-License-Identifier: Apache-2.0
// Another program, run to its end: what a benchmark mounts with, or compares with.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

namespace forebay::bench {

/// What a program is told besides its words: "NAME=value".
using Settings = std::vector<std::string>;

/// Runs `words` (the program first: a path, or a name that PATH has) with `settings` in its
/// environment, and waits for its end. It prints to our standard error alone. An Error if it cannot
/// be started, or says that it failed: it names the program, and as path the last word, or what
/// that gives an option.
Status run_child(const std::vector<std::string>& words, const Settings& settings = {});

/// Where PATH has a program of this name; empty if nowhere.
std::string find_program(const std::string& name);

}  // namespace forebay::bench
