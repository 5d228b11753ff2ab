// SPDX-License-Identifier: Apache-2.0
// Runs work in a separate process: its written bytes and memory are counted separately, and no run
// inherits the heap of another.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace forebay::bench::cube {

struct SubprocessRun {
  std::string output;
  double total_s = 0;  ///< from before fork() to its end
  /// Bytes passed to the system for writing; empty if the system does not count them. The maximum
  /// of its two counters, as one counts write(2) and the other io_uring.
  std::optional<std::uint64_t> written_bytes;
  std::uint64_t memory_bytes = 0;  ///< maximum resident set
};

/// Runs `work` in a copy of this process and returns its result. Other threads of this process do
/// not exist there. An Error of the work becomes the cause of the returned Error.
Result<SubprocessRun> run_in_subprocess(const std::function<Result<std::string>()>& work);

/// Runs a program, the first of `words`, and returns its standard output. Fails if the program
/// fails.
Result<SubprocessRun> run_program_in_subprocess(const std::vector<std::string>& words);

}  // namespace forebay::bench::cube
