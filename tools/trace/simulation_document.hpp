// SPDX-License-Identifier: Apache-2.0
// Predictors compared on streams of reads, as a JSON document: `forebay trace simulate` prints a
// table and a plot of it.
#pragma once

#include <forebay/error.hpp>

#include <span>
#include <string>
#include <vector>

#include "command/command_result.hpp"
#include "command/progress.hpp"
#include "push/cache_simulation.hpp"
#include "tools/trace/loaded_trace.hpp"
#include "trace/access.hpp"

namespace forebay::trace_tool {

struct ReadStream {
  std::string name;
  std::vector<trace::Access> reads;
};

/// The streams of `loaded` that have reads, each named by its file and thread.
std::vector<ReadStream> read_streams(const LoadedTrace& loaded);

/// The pattern of this name; if it is empty, all that read. Fails with kInvalidArgument if there is
/// no such pattern, or if it writes.
Result<std::vector<ReadStream>> pattern_streams(const std::string& name);

/// Each predictor on each stream, with an empty cache:
///
///     {"cache_bytes", "page_bytes", "lookahead",
///      "streams": [{"name", "reads", "base": COUNTS, "predictors": [PREDICTOR], "error"}]}
///
/// COUNTS is {"faults", "misses", "pages_read", "pages_pushed", "pages_wasted"}: see CacheCounts.
/// PREDICTOR is COUNTS with "name" and "ns_per_access": observe(), predict() and, of "neural",
/// training, in the fastest of several passes. The last one, "stored", has the signature of the
/// stream. It is absent if none can be found; "error" has the reason. kCancelled by `progress`
/// between two predictors.
Result<command::Json> simulation_document(std::span<const ReadStream> streams,
                                          const push::CacheOptions& options,
                                          const command::ProgressSink& progress = {});

}  // namespace forebay::trace_tool
