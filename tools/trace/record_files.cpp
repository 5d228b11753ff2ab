// SPDX-License-Identifier: Apache-2.0
// Conversion by streams: neither side is ever completely in memory.
#include "tools/trace/record_files.hpp"

#include <forebay/temporary_file.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "storage/file.hpp"
#include "tools/trace/loaded_trace.hpp"
#include "trace/trace_writer.hpp"

namespace forebay::trace_tool {

namespace {

using trace::TraceRecord;
using trace::TraceWriter;

constexpr std::size_t kBatchRecords = 4096;

Error file_error(const char* operation, const std::string& path) {
  return system_error({.operation = operation, .path = path}, errno != 0 ? errno : EIO);
}

/// Sources, files and records, as they arrive.
class TraceImporter {
 public:
  explicit TraceImporter(TraceWriter writer) : writer_(std::move(writer)) {}

  Status add_file(const std::string& path) {
    ++counts_.files;
    const auto number = writer_.add_file({.path = path});
    return number ? Status() : failure(number.error());
  }
  Status add(const RecordEntry& entry) {
    const auto rank = entry.has_rank != 0 ? std::optional(entry.rank) : std::nullopt;
    const auto [found, is_new] =
        batches_.try_emplace(std::make_tuple(entry.process, rank, entry.thread));
    Batch& batch = found->second;
    if (is_new) {
      const auto number =
          writer_.add_source({.process = entry.process, .rank = rank, .thread = entry.thread});
      if (!number) return failure(number.error());
      batch.source = *number;
    }
    ++counts_.records;
    batch.records.push_back(entry.record);
    return batch.records.size() < kBatchRecords ? Status() : write(batch);
  }
  Result<RecordCounts> finish() {
    for (auto& [key, batch] : batches_)
      if (const Status written = write(batch); !written) return failure(written.error());
    if (const Status flushed = writer_.flush(); !flushed) return failure(flushed.error());
    counts_.sources = batches_.size();
    return counts_;
  }

 private:
  struct Batch {
    std::uint32_t source = 0;
    std::vector<TraceRecord> records;
  };
  Status write(Batch& batch) {
    const Status written =
        batch.records.empty() ? Status() : writer_.append(batch.source, batch.records);
    batch.records.clear();
    return written;
  }

  TraceWriter writer_;
  /// By process, rank and thread.
  std::map<std::tuple<std::uint64_t, std::optional<std::uint32_t>, std::uint64_t>, Batch> batches_;
  RecordCounts counts_;
};

Status import_entries(const std::string& path,
                      TraceImporter& importer,
                      const command::ProgressSink& progress) {
  errno = 0;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return failure(file_error("read", path));
  const std::uint64_t total = static_cast<std::uint64_t>(in.tellg()) / sizeof(RecordEntry);
  in.seekg(0);
  RecordEntry entry;
  for (std::uint64_t done = 1; in.read(reinterpret_cast<char*>(&entry), sizeof entry); ++done) {
    if (const Status added = importer.add(entry); !added) return added;
    if (done % kBatchRecords != 0) continue;
    const Status reported =
        report(progress, {done, total, "records", "writing trace"}, "write trace");
    if (!reported) return reported;
  }
  if (in.bad() || in.gcount() != 0) return failure(file_error("read", path));
  return {};
}

}  // namespace

Result<RecordCounts> export_records(const TraceInput& input, const std::string& entries_path) {
  errno = 0;
  std::ofstream out(entries_path, std::ios::binary);
  std::map<std::uint32_t, trace::SourceInfo> sources;
  RecordCounts counts;
  const auto reader = read_blocks(input, [&](const trace::TraceBlock& block) {
    if (const auto* found = std::get_if<trace::SourceBlock>(&block)) {
      sources[found->number] = found->info;
    } else if (std::holds_alternative<trace::FileBlock>(block)) {
      ++counts.files;
    } else {
      const auto& records = std::get<trace::RecordsBlock>(block);
      const trace::SourceInfo& source = sources[records.source];
      for (const TraceRecord& record : records.records) {
        const RecordEntry entry{source.process, source.thread, record, source.rank.value_or(0),
                                source.rank ? 1U : 0U};
        out.write(reinterpret_cast<const char*>(&entry), sizeof entry);
      }
      counts.records += records.records.size();
    }
  });
  if (!reader) return failure(reader.error());
  out.close();
  if (!out) return failure(file_error("write", entries_path));
  counts.sources = sources.size();
  for (const Error& warning : reader->warnings())
    counts.warnings.push_back(warning.message());
  return counts;
}

Result<RecordCounts> import_records(const std::string& entries_path,
                                    const std::vector<std::string>& names,
                                    const std::string& trace_path,
                                    const command::ProgressSink& progress) {
  auto target = TemporaryFile::create_beside(trace_path);
  if (!target) return failure(target.error());
  auto file = storage::open_file(target->path(), {.intent = storage::Intent::kWrite});
  if (!file) return failure(file.error());
  auto writer = TraceWriter::create(std::move(*file), 0);
  if (!writer) return failure(writer.error());
  TraceImporter importer(std::move(*writer));
  for (const std::string& name : names)
    if (const Status added = importer.add_file(name); !added) return failure(added.error());
  if (const Status entries = import_entries(entries_path, importer, progress); !entries)
    return failure(entries.error());
  auto counts = importer.finish();
  if (!counts) return counts;
  if (const Status published = target->publish(); !published) return failure(published.error());
  return counts;
}

}  // namespace forebay::trace_tool
