// SPDX-License-Identifier: Apache-2.0
// Another program, run to its end: what a benchmark mounts with, or compares with.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

namespace forebay::bench {

/// Runs `words` (the program first: a path, or a name that PATH has) and waits for its end. It
/// prints to our standard error alone. An Error if it cannot be started, or says that it failed.
Status run_child(const std::vector<std::string>& words);

/// Where PATH has a program of this name; empty if nowhere.
std::string find_program(const std::string& name);

}  // namespace forebay::bench
