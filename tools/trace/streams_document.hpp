// SPDX-License-Identifier: Apache-2.0
// The streams of a trace as a JSON document: sizes, times, signatures and classes. `forebay trace`
// prints tables and plots of it.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include "command/command_result.hpp"
#include "command/progress.hpp"
#include "tools/trace/loaded_trace.hpp"

namespace forebay::trace_tool {

/// Streams in the order of their files, then of their threads:
///
///     {"start_ns", "records", "lost_records", "skipped_bytes", "warnings": [text],
///      "streams": [{"file", "host", "program", "process", "rank", "thread", "other_records",
///                   "reads": ACCESSES, "writes": ACCESSES}]}
///
/// ACCESSES is null without accesses, else {"count", "bytes", "first_ns", "last_ns", "signature",
/// "items", "explained_share", "class", "points": [[ns, offset, size]]}. `signature` is null if
/// none can be found; then "error" has the reason, and "items" and "explained_share" are absent.
/// `points` are at most `points_max` accesses at equal distances, the first included. kCancelled by
/// `progress` between two streams.
Result<command::Json> streams_document(const LoadedTrace& loaded,
                                       std::uint64_t points_max,
                                       const command::ProgressSink& progress = {});

}  // namespace forebay::trace_tool
