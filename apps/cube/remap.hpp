// SPDX-License-Identifier: Apache-2.0
// `remap`: a profile with other metrics, as a specification or a choice says. Rows are computed by
// several threads and written behind them, each byte once and to its place, into a file that has
// its name only when it is complete.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "command/progress.hpp"
#include "cube/describe.hpp"
#include "cube/remap_metrics.hpp"
#include "cube/team.hpp"

namespace forebay::cube {

struct RemapOptions {
  std::string input;
  std::string output;
  /// The path of a specification. Empty: the one inside the profile, if there is one.
  std::string specification = {};
  bool ignores_inner_specification = false;
  RemapChoice choice = {};
  std::optional<int> packing_level = std::nullopt;  ///< absent: plain rows
  unsigned threads = 1;
  std::uint64_t cache_bytes = 128ULL << 20U;  ///< for input rows that are needed again
  /// No buffer of the stream is larger: rows that are longer go through in pieces. From 4 KiB on.
  std::uint64_t buffer_bytes_max = 32ULL << 20U;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// Writes the new profile; its bytes depend on the options without threads, cache and buffers.
/// Memory: the description, `cache_bytes`, and eight buffers more than threads, of 4 MiB or a row,
/// or of `buffer_bytes_max` and a row for each thread. Gives the report that README.md describes.
/// After a failure there is no new file, and one that had the name is as it was. Collective over
/// `team`, with the same options: each rank computes a part of the rows, with threads of its own,
/// and all write into one file, through the page cache. The outcome is the same on all; counts in
/// the report are those of the rank unless README.md says otherwise.
Result<Json> remap(const RemapOptions& options, Team& team);

}  // namespace forebay::cube
