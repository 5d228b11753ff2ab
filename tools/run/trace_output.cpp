// SPDX-License-Identifier: Apache-2.0
#include "tools/run/trace_output.hpp"

#include <algorithm>
#include <chrono>

#include "base/host_name.hpp"
#include "base/wall_clock.hpp"
#include "storage/file.hpp"

namespace forebay::run {

namespace {

constexpr std::size_t kBlockRecords = 8192;

/// The clock of the records.
std::uint64_t monotonic_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

Result<std::unique_ptr<TraceOutput>> TraceOutput::create(const std::string& path) {
  auto file = storage::open_file(path, {.intent = storage::Intent::kCreate});
  if (!file) return failure(file.error());
  if (Status emptied = (*file)->truncate(0); !emptied) return failure(emptied.error());
  auto writer = trace::TraceWriter::create(std::move(*file), wall_clock_ns());
  if (!writer) return failure(writer.error());
  return std::unique_ptr<TraceOutput>(new TraceOutput(std::move(*writer)));
}

TraceOutput::TraceOutput(trace::TraceWriter writer)
    : writer_(std::move(writer)), begin_ns_(monotonic_ns()) {}

void TraceOutput::begin_process(const Process& process) {
  processes_.insert_or_assign(process.number, process);
}

void TraceOutput::end_process(std::uint32_t process) {
  auto source = sources_.lower_bound({process, 0});
  for (; source != sources_.end() && source->first.first == process;
       source = sources_.erase(source))
    write(source->second);
  processes_.erase(process);
}

void TraceOutput::open_file(const FileKey& key, const trace::RunOpen& open) {
  std::string path(open.path.data(), open.path_bytes);
  // Each view of a file of MPI-IO is a file of the trace.
  const bool is_mpi = open.kind == trace::RunOpenKind::kMpiFile;
  const auto known = numbers_.find({path, open.inode});
  if (!is_mpi && known != numbers_.end()) {
    files_.insert_or_assign(key, known->second);
    return;
  }
  trace::FileInfo info{
      .path = path, .device = open.device, .inode = open.inode, .size_bytes = open.size_bytes};
  if (is_mpi) {
    info.interface = trace::kMpiInterface;
    info.view = open.view;
  }
  const auto added = writer_.add_file(info);
  if (!keep(added)) return;
  if (!is_mpi) numbers_.emplace(std::pair(std::move(path), open.inode), *added);
  ++file_count_;
  files_.insert_or_assign(key, *added);
}

TraceOutput::Source* TraceOutput::source_of(const ThreadId& thread) {
  const auto process = processes_.find(thread.process);
  if (process == processes_.end()) return nullptr;
  const Process& known = process->second;
  const std::pair key(known.number, thread.thread);
  const auto found = sources_.find(key);
  if (found != sources_.end()) return &found->second;
  trace::SourceInfo info{.host = host_name(),
                         .process = known.pid,
                         .thread = thread.thread,
                         .program = known.words.empty() ? "" : known.words.front()};
  if (known.rank != trace::RunProcess::kNoRank) info.rank = known.rank;
  const auto added = writer_.add_source(info);
  if (!keep(added)) return nullptr;
  ++source_count_;
  return &sources_.emplace(key, Source{*added}).first->second;
}

Activity TraceOutput::record(const ThreadId& thread, const trace::TraceRecord& record) {
  const auto file = files_.find({thread.process, record.file});
  Source* const source = file != files_.end() ? source_of(thread) : nullptr;
  if (source == nullptr) {
    ++lost_;
    return Activity::kFast;
  }
  trace::TraceRecord written = record;
  written.file = file->second;
  written.begin_ns = std::max(record.begin_ns, begin_ns_) - begin_ns_;
  source->records.push_back(written);
  if (source->records.size() >= kBlockRecords) write(*source);
  return Activity::kFast;
}

void TraceOutput::lose(const ThreadId& thread, std::uint64_t count) {
  lost_ += count;
  if (Source* const source = source_of(thread)) source->lost += count;
}

void TraceOutput::write(Source& source) {
  if (source.records.empty() && source.lost == 0) return;
  if (keep(writer_.append(source.number, source.records, source.lost)))
    records_ += source.records.size();
  else
    lost_ += source.records.size();
  source.records.clear();
  source.lost = 0;
}

void TraceOutput::flush() {
  for (auto& [thread, source] : sources_)
    write(source);
  keep(writer_.flush());
}

nlohmann::json TraceOutput::finish() {
  flush();
  return {{"records", records_},
          {"sources", source_count_},
          {"files", file_count_},
          {"lost_records", lost_},
          {"error", error_ ? nlohmann::json(error_->message()) : nlohmann::json()}};
}

}  // namespace forebay::run
