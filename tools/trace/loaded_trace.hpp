// SPDX-License-Identifier: Apache-2.0
// A trace in memory: its streams, which are the calls of one thread to one file.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "command/progress.hpp"
#include "trace/access.hpp"
#include "trace/trace_reader.hpp"

namespace forebay::trace_tool {

/// Reads or writes of a stream. Calls without offset, and failed ones, are not in it.
struct Accesses {
  std::vector<trace::Access> all;
  std::uint64_t bytes = 0;
  bool has_unknown_times = false;  ///< of at least one access; then all begin at 0
};

struct Stream {
  Accesses reads;
  Accesses writes;
  std::uint64_t other_records = 0;  ///< opens, seeks, ..., failed calls, unknown offsets
};

/// Bound of the memory of a trace: compressed records of some MB may be billions.
inline constexpr std::uint64_t kTraceMemoryBytesMax = 2_GiB;

struct LoadedTrace {
  std::uint64_t start_ns = 0;
  std::uint64_t records = 0;
  std::uint64_t lost_records = 0;
  std::uint64_t skipped_bytes = 0;
  std::uint64_t memory_bytes_left = kTraceMemoryBytesMax;
  std::uint64_t omitted_records = 0;  ///< for which that was too little
  std::map<std::uint32_t, trace::SourceInfo> sources;
  std::map<std::uint16_t, trace::FileInfo> files;
  /// By number of the file, then of the source.
  std::map<std::pair<std::uint16_t, std::uint32_t>, Stream> streams;
  std::vector<Error> warnings;
};

struct TraceInput {
  std::string path;
  trace::TraceReader::OnDamage on_damage = trace::TraceReader::OnDamage::kFail;
  command::ProgressSink progress;
};

/// Calls `visit` for each block of the trace, in order. Returns the reader at the end of the trace.
/// Fails as TraceReader does, and with kCancelled.
Result<trace::TraceReader> read_blocks(const TraceInput& input,
                                       const std::function<void(const trace::TraceBlock&)>& visit);

/// Reads the whole trace: 24 to 48 bytes of memory for each access, and some 200 for each stream.
/// Records beyond `memory_bytes_max` are counted only, with a warning. Fails as read_blocks() does.
Result<LoadedTrace> load_trace(const TraceInput& input,
                               std::uint64_t memory_bytes_max = kTraceMemoryBytesMax);

}  // namespace forebay::trace_tool
