// SPDX-License-Identifier: Apache-2.0
// Sorts the records of a trace into streams.
#include "tools/trace/loaded_trace.hpp"

#include <algorithm>
#include <variant>

#include "storage/file.hpp"

namespace forebay::trace_tool {

namespace {

using trace::TraceOperation;
using trace::TraceRecord;

bool is_access(const TraceRecord& record) {
  const bool is_transfer =
      record.operation == TraceOperation::kRead || record.operation == TraceOperation::kWrite;
  return is_transfer && (record.flags & (trace::kFlagOffsetUnknown | trace::kFlagFailed)) == 0;
}

/// Twice the size: a vector grows by doubling.
constexpr std::uint64_t kAccessBytes = 2 * sizeof(trace::Access);
constexpr std::uint64_t kStreamBytes = sizeof(Stream) + 128;  // with its node

void add_access(Accesses& accesses, const TraceRecord& record) {
  const bool has_time = (record.flags & trace::kFlagTimeUnknown) == 0;
  accesses.has_unknown_times = accesses.has_unknown_times || !has_time;
  accesses.all.push_back({.offset = record.offset,
                          .size = record.size,
                          .begin_ns = static_cast<std::int64_t>(record.begin_ns)});
  accesses.bytes += std::min(record.size, UINT64_MAX - accesses.bytes);
}

void add_record(LoadedTrace& loaded, std::uint32_t source, const TraceRecord& record) {
  const auto key = std::pair(record.file, source);
  const std::uint64_t bytes =
      (loaded.streams.contains(key) ? 0 : kStreamBytes) + (is_access(record) ? kAccessBytes : 0);
  if (bytes > loaded.memory_bytes_left) {
    ++loaded.omitted_records;
    return;
  }
  loaded.memory_bytes_left -= bytes;
  Stream& stream = loaded.streams[key];
  if (!is_access(record))
    ++stream.other_records;
  else
    add_access(record.operation == TraceOperation::kRead ? stream.reads : stream.writes, record);
}

/// Intervals between some of the accesses would be wrong.
void clear_partial_times(Accesses& accesses) {
  if (!accesses.has_unknown_times) return;
  for (trace::Access& access : accesses.all)
    access.begin_ns = 0;
}

void add_block(LoadedTrace& loaded, const trace::TraceBlock& block) {
  if (const auto* source = std::get_if<trace::SourceBlock>(&block)) {
    loaded.sources[source->number] = source->info;
  } else if (const auto* file = std::get_if<trace::FileBlock>(&block)) {
    loaded.files[file->number] = file->info;
  } else {
    const auto& records = std::get<trace::RecordsBlock>(block);
    loaded.records += records.records.size();
    loaded.lost_records += records.lost_records;
    for (const TraceRecord& record : records.records)
      add_record(loaded, records.source, record);
  }
}

Error omission(const LoadedTrace& loaded, const std::string& path) {
  return Error({.kind = ErrorClass::kLimit,
                .operation = "read trace",
                .path = path,
                .cause = std::to_string(loaded.omitted_records) +
                         " records are left out, as there is no memory for more; record fewer "
                         "files, or for a shorter time"});
}

}  // namespace

Result<trace::TraceReader> read_blocks(const TraceInput& input,
                                       const std::function<void(const trace::TraceBlock&)>& visit) {
  auto file = storage::open_file(input.path);
  if (!file) return failure(file.error());
  const auto bytes = (*file)->size();
  if (!bytes) return failure(bytes.error());
  auto reader = trace::TraceReader::open(std::move(*file), input.on_damage);
  while (reader) {
    const auto block = reader->next();
    if (!block) return failure(block.error());
    if (!*block) break;
    visit(**block);
    const auto reported = command::report(
        input.progress, {reader->position(), *bytes, "bytes", "reading " + input.path},
        "read trace");
    if (!reported) return failure(reported.error());
  }
  return reader;
}

Result<LoadedTrace> load_trace(const TraceInput& input, std::uint64_t memory_bytes_max) {
  LoadedTrace loaded{.memory_bytes_left = memory_bytes_max};
  const auto reader =
      read_blocks(input, [&](const trace::TraceBlock& block) { add_block(loaded, block); });
  if (!reader) return failure(reader.error());
  for (auto& [key, stream] : loaded.streams) {
    clear_partial_times(stream.reads);
    clear_partial_times(stream.writes);
  }
  loaded.start_ns = reader->start_ns();
  loaded.warnings = reader->warnings();
  loaded.skipped_bytes = reader->skipped_bytes();
  if (loaded.omitted_records > 0) loaded.warnings.push_back(omission(loaded, input.path));
  return loaded;
}

}  // namespace forebay::trace_tool
