// SPDX-License-Identifier: Apache-2.0
// Starts a background process. The calling process waits until the background process has reported
// success or failure, prints its report, and exits with its exit code.
#pragma once

#include <string>

namespace forebay::emufs {

/// What the first process prints, and its exit code.
struct StartupResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// Continues in a background process that leads a new session. The first process never returns: it
/// prints the result of report_startup() and exits. Call it before the process has threads. Returns
/// the descriptor for report_startup().
int daemonize();

/// Ends the first process with `result`, and detaches the standard streams of this one.
void report_startup(int descriptor, const StartupResult& result);

}  // namespace forebay::emufs
