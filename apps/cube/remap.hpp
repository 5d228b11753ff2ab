// SPDX-License-Identifier: Apache-2.0
// `remap`: writes a profile with other metrics, given by a specification or a selection. Threads
// compute rows, and a stream writes them behind the computation, each byte once, at its offset. The
// file has its name only once it is complete.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "command/progress.hpp"
#include "cube/describe.hpp"
#include "cube/remap_metrics.hpp"
#include "cube/writer_comm.hpp"

namespace forebay::cube {

struct RemapOptions {
  std::string input;
  std::string output;
  /// The path of a specification. Empty: the one embedded in the profile, if any.
  std::string specification = {};
  bool should_ignore_embedded = false;
  RemapSelection selection = {};
  std::optional<int> compression_level = std::nullopt;  ///< absent: plain rows
  unsigned threads = 1;
  std::uint64_t cache_bytes = 128ULL << 20U;  ///< for input rows that are used several times
  /// Upper bound of a stream buffer; longer rows are written in pieces. At least 4 KiB.
  std::uint64_t buffer_bytes_max = 32ULL << 20U;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// Writes the new profile and returns the report that README.md describes. The bytes of the file do
/// not depend on threads, cache and buffers.
///
/// Memory: the description; `cache_bytes`; `threads` and eight more buffers, of 4 MiB or one row
/// each. If rows are longer than `buffer_bytes_max`, these buffers have that size, and each thread
/// holds one row. With compression, `cache_bytes` again for compressed rows.
///
/// Collective over `comm`, with equal options. Each rank computes a part of the rows with its own
/// threads, and all ranks write one file through the page cache. The Status is equal on all ranks;
/// counts in the report are those of this rank unless README.md states otherwise. After a failure
/// there is no new file, and an existing file of that name is unchanged.
Result<Json> remap(const RemapOptions& options, WriterComm& comm);

}  // namespace forebay::cube
