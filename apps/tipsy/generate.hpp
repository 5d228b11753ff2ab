// SPDX-License-Identifier: Apache-2.0
// Generates a snapshot of a Plummer sphere at the speed of the disk. Threads draw, encode and write
// blocks of particles, each with its own random stream.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include "command/progress.hpp"
#include "tipsy/layout.hpp"

namespace forebay::tipsy {

struct GenerateOptions {
  std::string path;
  Layout layout;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// Counts of gas, dark and star particles (1 : 2 : 1, the rest dark) whose file has `file_bytes` or
/// up to one record less. Fails with kInvalidArgument if not one particle fits, or if there would
/// be more than a header can count.
Result<Counts> counts_for_size(std::uint64_t file_bytes, const Layout& shape);

/// Writes the snapshot; its bytes depend on layout and seed alone, not on the number of threads.
/// Uses at most about 1.5 MiB of memory for each thread. After a failure no new file exists.
Status generate(const GenerateOptions& options);

}  // namespace forebay::tipsy
