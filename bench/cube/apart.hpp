// SPDX-License-Identifier: Apache-2.0
// Work in a process of its own: what it wrote and how much memory it took is then its own, and no
// run inherits the heap of another one.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace forebay::bench::cube {

struct ApartRun {
  std::string output;
  double total_s = 0;  ///< from before the process is made to its end
  /// Handed to the system to be written; none if it does not count. The larger of its two counts,
  /// as write(2) is counted by one and io_uring by the other.
  std::optional<std::uint64_t> written_bytes;
  std::uint64_t memory_bytes = 0;  ///< the most that was resident
};

/// Runs `work` in a copy of this process, and takes what it returns. Threads of this process do not
/// exist there. An Error of the work has its message as cause.
Result<ApartRun> run_apart(const std::function<Result<std::string>()>& work);

/// Runs a program, the first of `words`, and takes its standard output. An Error if it fails.
Result<ApartRun> run_program_apart(const std::vector<std::string>& words);

}  // namespace forebay::bench::cube
