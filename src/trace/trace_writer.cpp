// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_writer.hpp"

#include <algorithm>
#include <utility>

namespace forebay::trace {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 20U;

tl::unexpected<Error> writer_error(ErrorClass kind, const std::string& path, std::string cause) {
  return failure(
      {.kind = kind, .operation = "write trace", .path = path, .cause = std::move(cause)});
}

}  // namespace

Result<TraceWriter> TraceWriter::create(std::unique_ptr<storage::File> file,
                                        std::uint64_t start_ns) {
  const auto size = file->size();
  if (!size) return failure(size.error());
  if (*size != 0)
    return writer_error(ErrorClass::kExists, file->path(),
                        "the file is not empty; delete it, or choose another name");
  TraceWriter writer(std::move(file));
  const TraceHeader header = make_trace_header(start_ns);
  const auto bytes = std::as_bytes(std::span(&header, 1));
  writer.blocks_.assign(bytes.begin(), bytes.end());
  if (const Status flushed = writer.flush(); !flushed) return failure(flushed.error());
  return writer;
}

Result<std::uint32_t> TraceWriter::add_source(const SourceInfo& source) {
  if (source_count_ == kSourcesMax)
    return writer_error(ErrorClass::kLimit, file_->path(), "a trace has at most 2^20 sources");
  const Status added =
      append_json({.kind = BlockKind::kSource, .source = source_count_}, to_json(source));
  if (!added) return failure(added.error());
  return source_count_++;
}

Result<std::uint16_t> TraceWriter::add_file(const FileInfo& file) {
  if (file_count_ == kFilesMax)
    return writer_error(ErrorClass::kLimit, file_->path(), "a trace has at most 65,535 files");
  const Status added =
      append_json({.kind = BlockKind::kFile, .file_or_lost = file_count_}, to_json(file));
  if (!added) return failure(added.error());
  return static_cast<std::uint16_t>(file_count_++);
}

Status TraceWriter::append_json(const BlockHeader& header, const std::string& json) {
  if (error_) return failure(*error_);
  append_block(header, std::as_bytes(std::span(json)), blocks_);
  return flush_if_full();
}

Status TraceWriter::check(std::uint32_t source, std::span<const TraceRecord> records) const {
  if (source >= source_count_)
    return writer_error(ErrorClass::kInvalidArgument, file_->path(),
                        "source " + std::to_string(source) + " has no block");
  const auto is_wrong = [this](const TraceRecord& record) {
    return !is_valid(record) || (record.file >= file_count_ && record.file != kFileUnknown);
  };
  const auto wrong = std::ranges::find_if(records, is_wrong);
  if (wrong == records.end()) return {};
  return writer_error(ErrorClass::kInvalidArgument, file_->path(),
                      "record " + std::to_string(wrong - records.begin()) +
                          " exceeds a limit or names a file without a block");
}

Status TraceWriter::append(std::uint32_t source,
                           std::span<const TraceRecord> records,
                           std::uint64_t lost_records) {
  if (error_) return failure(*error_);
  if (const Status checked = check(source, records); !checked) return checked;
  auto lost = static_cast<std::uint32_t>(std::min<std::uint64_t>(lost_records, UINT32_MAX));
  while (!records.empty() || lost != 0) {
    const auto part = records.first(std::min(records.size(), kBlockRecordsMax));
    records = records.subspan(part.size());
    encode_records(part, raw_);
    const BlockHeader header{.records = static_cast<std::uint32_t>(part.size()),
                             .source = source,
                             .file_or_lost = std::exchange(lost, 0)};
    append_block(header, raw_, blocks_);
    if (const Status flushed = flush_if_full(); !flushed) return flushed;
  }
  return {};
}

Status TraceWriter::flush_if_full() { return blocks_.size() < kFlushBytes ? Status() : flush(); }

Status TraceWriter::flush() {
  if (error_) return failure(*error_);
  const auto written = file_->write_at(blocks_, written_bytes_);
  if (!written) {
    error_ = with_location(written.error(), file_->path(), written_bytes_);
    // Best effort: an incomplete block at the end is only a warning.
    static_cast<void>(file_->truncate(written_bytes_));
    return failure(*error_);
  }
  written_bytes_ += blocks_.size();
  blocks_.clear();
  return {};
}

}  // namespace forebay::trace
