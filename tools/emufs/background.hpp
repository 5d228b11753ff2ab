// SPDX-License-Identifier: Apache-2.0
// Going to the background when something works, and not before: the process that was called waits
// for what the one in the background says, and ends as it says.
#pragma once

#include <string>

namespace forebay::emufs {

/// What the caller is told: its exit code, and what it prints.
struct Verdict {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// Becomes a process in a session of its own. The first one never returns: it ends with the
/// verdict. Must be called before there are threads. Returns the descriptor for give_verdict().
int go_to_background();

/// Lets the first process end, and leaves its standard streams.
void give_verdict(int descriptor, const Verdict& verdict);

}  // namespace forebay::emufs
