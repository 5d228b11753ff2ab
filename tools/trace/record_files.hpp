// SPDX-License-Identifier: Apache-2.0
// Files of records, by which the Python side reads and writes texts and logs of other tools
// (python/forebay/trace_import/records.py).
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "tools/trace/loaded_trace.hpp"

namespace forebay::trace_tool {

/// A record with its source. A file of records has one after the other, little endian.
struct RecordEntry {
  std::uint64_t process = 0;
  std::uint64_t thread = 0;
  trace::TraceRecord record = {};
  std::uint32_t rank = 0;
  std::uint32_t has_rank = 0;
};
static_assert(sizeof(RecordEntry) == 56);
static_assert(std::has_unique_object_representations_v<RecordEntry>);

/// Number of records, of threads and of files.
struct RecordCounts {
  std::uint64_t records = 0;
  std::uint64_t sources = 0;
  std::uint64_t files = 0;
  std::vector<std::string> warnings = {};  ///< of the trace: see TraceReader
};

/// Writes the records of a trace to the file `entries_path`. Fails as read_blocks() does.
Result<RecordCounts> export_records(const TraceInput& input, const std::string& entries_path);

/// Writes a trace, which appears when it is complete. Each combination of process, rank and thread
/// is a source. `names` are the paths of all files, by number. kCancelled by `progress`.
Result<RecordCounts> import_records(const std::string& entries_path,
                                    const std::vector<std::string>& names,
                                    const std::string& trace_path,
                                    const command::ProgressSink& progress = {});

}  // namespace forebay::trace_tool
