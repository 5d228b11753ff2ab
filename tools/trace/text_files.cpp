// SPDX-License-Identifier: Apache-2.0
// Conversion by streams: neither side is ever completely in memory.
#include "tools/trace/text_files.hpp"

#include <forebay/temporary_file.hpp>

#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "storage/file.hpp"
#include "trace/trace_reader.hpp"
#include "trace/trace_text.hpp"
#include "trace/trace_writer.hpp"

namespace forebay::trace_tool {

namespace {

using trace::TextLayout;
using trace::TextParser;
using trace::TextRecord;
using trace::TraceReader;
using trace::TraceRecord;
using trace::TraceWriter;

constexpr std::size_t kBatchRecords = 4096;
constexpr std::size_t kLineBytesMax = 65536;

Error file_error(const char* operation, const std::string& path) {
  return system_error({.operation = operation, .path = path}, errno != 0 ? errno : EIO);
}

/// Sources, files and records of a text, as they arrive.
class TraceImporter {
 public:
  TraceImporter(TraceWriter writer, std::vector<std::string> names)
      : writer_(std::move(writer)), names_(std::move(names)) {}

  Status add(const TextRecord& line) {
    const auto source = source_of(line);
    if (!source) return failure(source.error());
    if (const Status known = add_files_up_to(line.record.file); !known) return known;
    ++counts_.records;
    std::vector<TraceRecord>& batch = batches_[*source];
    batch.push_back(line.record);
    return batch.size() < kBatchRecords ? Status() : write(*source, batch);
  }

  Result<TextCounts> finish() {
    for (auto& [source, batch] : batches_)
      if (const Status written = write(source, batch); !written) return failure(written.error());
    if (const Status flushed = writer_.flush(); !flushed) return failure(flushed.error());
    return counts_;
  }

 private:
  Result<std::uint32_t> source_of(const TextRecord& line) {
    const auto key = std::make_tuple(line.process, line.rank, line.thread);
    if (const auto found = sources_.find(key); found != sources_.end()) return found->second;
    const auto number =
        writer_.add_source({.process = line.process, .rank = line.rank, .thread = line.thread});
    if (!number) return failure(number.error());
    ++counts_.sources;
    return sources_[key] = *number;
  }
  /// Files of a trace are numbered without gaps.
  Status add_files_up_to(std::uint16_t file) {
    while (file != trace::kFileUnknown && counts_.files <= file) {
      const std::size_t number = counts_.files;
      const std::string name =
          number < names_.size() ? names_[number] : "file " + std::to_string(number);
      if (const auto added = writer_.add_file({.path = name}); !added)
        return failure(added.error());
      ++counts_.files;
    }
    return {};
  }
  Status write(std::uint32_t source, std::vector<TraceRecord>& batch) {
    const Status written = batch.empty() ? Status() : writer_.append(source, batch);
    batch.clear();
    return written;
  }

  TraceWriter writer_;
  std::vector<std::string> names_;
  std::map<std::tuple<std::uint64_t, std::optional<std::uint32_t>, std::uint64_t>, std::uint32_t>
      sources_;
  std::map<std::uint32_t, std::vector<TraceRecord>> batches_;
  TextCounts counts_;
};

/// The next line, false at the end. Fails if the file cannot be read, or is no text.
Result<bool> read_line(std::istream& in, std::string& line, const std::string& path) {
  line.clear();
  errno = 0;
  for (int next = in.get(); next != std::istream::traits_type::eof(); next = in.get()) {
    if (next == '\n') return true;
    line.push_back(static_cast<char>(next));
    if (line.size() > kLineBytesMax)
      return failure({.kind = ErrorClass::kInvalidArgument,
                      .operation = "read",
                      .path = path,
                      .cause = "a line has more than 65536 bytes: this is no text"});
  }
  if (in.bad()) return failure(file_error("read", path));
  return !line.empty();
}

Result<std::vector<std::string>> read_names(const std::string& path) {
  std::vector<std::string> names;
  if (path.empty()) return names;
  std::ifstream in(path);
  if (!in) return failure(file_error("read names of files from", path));
  std::string line;
  auto has_line = read_line(in, line, path);
  for (; has_line && *has_line; has_line = read_line(in, line, path))
    names.push_back(line);
  if (!has_line) return failure(has_line.error());
  return names;
}

Status import_lines(std::istream& in, const std::string& path, TraceImporter& importer) {
  TextParser parser(path);
  std::string line;
  auto has_line = read_line(in, line, path);
  for (; has_line && *has_line; has_line = read_line(in, line, path)) {
    const auto record = parser.parse_line(line);
    if (!record) return failure(record.error());
    if (!*record) continue;
    if (const Status added = importer.add(**record); !added) return added;
  }
  if (!has_line) return failure(has_line.error());
  if (!parser.layout().columns.empty()) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "read",
                  .path = path,
                  .cause = "it has no line with the names of columns"});
}

struct ExportState {
  std::ofstream out;
  TextLayout layout = TextLayout::all_columns();
  std::map<std::uint32_t, trace::SourceInfo> sources;
  TextCounts counts;
};

void export_block(ExportState& state, const trace::TraceBlock& block) {
  if (const auto* source = std::get_if<trace::SourceBlock>(&block)) {
    state.sources[source->number] = source->info;
    ++state.counts.sources;
    return;
  }
  if (std::holds_alternative<trace::FileBlock>(block)) {
    ++state.counts.files;
    return;
  }
  const auto& records = std::get<trace::RecordsBlock>(block);
  const trace::SourceInfo& source = state.sources[records.source];
  for (const TraceRecord& record : records.records) {
    ++state.counts.records;
    state.out << text_line(state.layout, {.process = source.process,
                                          .rank = source.rank,
                                          .thread = source.thread,
                                          .record = record})
              << '\n';
  }
}

}  // namespace

Result<TextCounts> export_text(const std::string& trace_path, const std::string& text_path) {
  auto file = storage::open_file(trace_path);
  if (!file) return failure(file.error());
  auto reader = TraceReader::open(std::move(*file));
  if (!reader) return failure(reader.error());
  auto target = TemporaryFile::create_beside(text_path);
  if (!target) return failure(target.error());
  errno = 0;
  ExportState state{.out = std::ofstream(target->path())};
  state.out << text_header(state.layout) << '\n';
  while (state.out) {
    const auto block = reader->next();
    if (!block) return failure(block.error());
    if (!*block) break;
    errno = 0;
    export_block(state, **block);
  }
  if (state.out) state.out.close();
  if (!state.out) return failure(file_error("write", text_path));
  if (const Status published = target->publish(); !published) return failure(published.error());
  for (const Error& warning : reader->warnings())
    state.counts.warnings.push_back(warning.message());
  return state.counts;
}

Result<TextCounts> import_text(const std::string& text_path,
                               const std::string& names_path,
                               const std::string& trace_path) {
  std::ifstream in(text_path);
  if (!in) return failure(file_error("read", text_path));
  auto names = read_names(names_path);
  if (!names) return failure(names.error());
  auto target = TemporaryFile::create_beside(trace_path);
  if (!target) return failure(target.error());
  auto file = storage::open_file(target->path(), {.intent = storage::Intent::kWrite});
  if (!file) return failure(file.error());
  auto writer = TraceWriter::create(std::move(*file), 0);
  if (!writer) return failure(writer.error());
  TraceImporter importer(std::move(*writer), std::move(*names));
  if (const Status lines = import_lines(in, text_path, importer); !lines)
    return failure(lines.error());
  auto counts = importer.finish();
  if (!counts) return counts;
  if (const Status published = target->publish(); !published) return failure(published.error());
  return counts;
}

}  // namespace forebay::trace_tool
