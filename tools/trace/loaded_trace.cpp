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

void add_record(Stream& stream, const TraceRecord& record) {
  if (!is_access(record)) {
    ++stream.other_records;
    return;
  }
  Accesses& accesses = record.operation == TraceOperation::kRead ? stream.reads : stream.writes;
  const bool has_time = (record.flags & trace::kFlagTimeUnknown) == 0;
  accesses.all.push_back({.offset = record.offset,
                          .size = record.size,
                          .begin_ns = has_time ? static_cast<std::int64_t>(record.begin_ns) : 0});
  accesses.bytes += std::min(record.size, UINT64_MAX - accesses.bytes);
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
      add_record(loaded.streams[{record.file, records.source}], record);
  }
}

}  // namespace

Result<trace::TraceReader> read_blocks(const std::string& path,
                                       trace::TraceReader::OnDamage on_damage,
                                       const std::function<void(const trace::TraceBlock&)>& visit) {
  auto file = storage::open_file(path);
  if (!file) return failure(file.error());
  auto reader = trace::TraceReader::open(std::move(*file), on_damage);
  while (reader) {
    const auto block = reader->next();
    if (!block) return failure(block.error());
    if (!*block) break;
    visit(**block);
  }
  return reader;
}

Result<LoadedTrace> load_trace(const std::string& path, trace::TraceReader::OnDamage on_damage) {
  LoadedTrace loaded;
  const auto reader = read_blocks(
      path, on_damage, [&](const trace::TraceBlock& block) { add_block(loaded, block); });
  if (!reader) return failure(reader.error());
  loaded.start_ns = reader->start_ns();
  loaded.warnings = reader->warnings();
  loaded.skipped_bytes = reader->skipped_bytes();
  return loaded;
}

}  // namespace forebay::trace_tool
