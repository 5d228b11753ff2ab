// SPDX-License-Identifier: Apache-2.0
// Makes a snapshot of a Plummer sphere as fast as the disk takes it: blocks of particles, each with
// its own random stream, are drawn, coded and written by whichever thread is free.
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

/// Counts of gas, dark and star particles (1 : 2 : 1, the rest dark) whose file has at most
/// `file_bytes` and at least that minus one record. Fails with kInvalidArgument if not even one
/// particle fits, or more than a header can count.
Result<Counts> counts_for_size(std::uint64_t file_bytes, const Layout& shape);

/// Writes the snapshot; its bytes depend on layout and seed alone, not on the threads. Memory is
/// bounded by about 1.5 MiB for each thread. After a failure there is no new file.
Status generate(const GenerateOptions& options);

}  // namespace forebay::tipsy
