// SPDX-License-Identifier: Apache-2.0
#include "tools/run/foresight.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/free_memory.hpp"
#include "push/hint_file.hpp"
#include "trace/signature.hpp"

namespace forebay::run {

namespace {

/// Reads of a stream that are ahead at most, in parts of PageWarmer::kPartBytes: several for each
/// that the storage serves at the same time.
constexpr std::uint64_t kLoadsMin = 64;
constexpr std::uint64_t kLoadsPerSlot = 2;
/// Of a file that the process may not read at all.
constexpr std::uint64_t kPreparedLoadsMax = 8;
/// Files that a process will probably read, at a time. The oldest one is dropped.
constexpr std::size_t kPreparedMax = 128;
/// Of such files, each process may have this part of the free memory read ahead.
constexpr std::uint64_t kPreparedShare = 4;
constexpr std::uint64_t kPreparedBytes = std::uint64_t{1} << 30U;
/// Files in the report; further ones are one entry.
constexpr std::size_t kTotalsMax = 10'000;
constexpr const char* kOtherFiles = "(other files)";
/// Reads of a file that are expected of the next one of its series.
constexpr std::size_t kSeriesReads = 256;

std::shared_ptr<const trace::Signature> signature_of_first(std::span<const trace::Access> reads) {
  trace::ListItem list;
  for (const trace::Access& read : reads)
    list.accesses.push_back({read.offset, read.size});
  trace::Signature signature;
  signature.items.emplace_back(std::move(list));
  return std::make_shared<const trace::Signature>(std::move(signature));
}

/// Why nothing of a file was read ahead; empty: unknown.
std::string reason_of(const StreamCounts& counts, bool is_mapped) {
  if (counts.reads == 0) return is_mapped ? "mapped" : "not read";
  if (counts.misses == 0) return "reads did not wait";
  if (FileStream::is_left_to_kernel(counts)) return "the kernel reads ahead";
  return "no pattern in time";
}

}  // namespace

Result<std::unique_ptr<Foresight>> Foresight::create(const Options& options) {
  std::unique_ptr<Foresight> foresight(new Foresight(options));
  if (options.hints_path.empty()) return foresight;
  auto hints = push::read_hint_file(options.hints_path);
  if (!hints) return failure(hints.error());
  foresight->hints_ = std::move(*hints);
  return foresight;
}

Foresight::Foresight(const Options& options)
    : profile_(options.profile_folder),
      loads_max_(kLoadsMin),
      prepared_bytes_max_(kPreparedBytes) {}

void Foresight::begin_process(const Process& process) {
  profile_.add_process(process.number, process.words);
  std::vector<std::string> planned = profile_.files(process.number);
  for (const push::FileHint& hint : hints_) {
    if (!push::is_pattern(hint.file) && hint.signature != nullptr) planned.push_back(hint.file);
  }
  processes_.try_emplace(process.number, ProcessState{FilesAhead(std::move(planned))});
}

void Foresight::end_process(std::uint32_t process) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  for (auto& [path, prepared] : found->second.prepared)
    end_stream(path, *prepared.stream);
  processes_.erase(found);
  profile_.end_process(process);
}

void Foresight::open_file(const FileKey& key, const trace::RunOpen& open) {
  const auto process = processes_.find(key.first);
  if (open.kind != trace::RunOpenKind::kFile || process == processes_.end()) return;
  const std::string path(open.path.data(), open.path_bytes);
  const push::FileVersion version{open.size_bytes, open.modified_ns};
  auto file = std::make_shared<LazyFile>(path, FileIds{open.device, open.inode, {}});
  files_.insert_or_assign(key, OpenFile{std::move(file), version});
  prepare(key.first, process->second.files.open(path));
  if (open.has_waited) begin_file(key);
}

/// Before the first read of a process, in a file whose opening has waited for storage: opens it,
/// and reads what comes first. More only if a read waits, too: the bytes may be cached. Not for
/// later files: where each opening is a request to a server, cached files would need twice as many.
void Foresight::begin_file(const FileKey& key) {
  ProcessState& process = processes_.at(key.first);
  if (std::exchange(process.has_begun, true)) return;
  const OpenFile& open = files_.at(key);
  auto stream = take_prepared(process, open);
  if (!stream) stream = make_stream(key.first, open);
  stream->begin(warmer_, 1);
  add_prepared(process, open.file->path(), {std::move(stream), open.version});
}

std::unique_ptr<FileStream> Foresight::make_stream(std::uint32_t process, const OpenFile& open) {
  auto stream = std::make_unique<FileStream>(open.file, next_stream_++);
  add_hints(*stream, profile_.hints_for(process, open.file->path(), open.version), open.version);
  return stream;
}

/// Hints of the profile and of the hint file.
void Foresight::add_hints(FileStream& stream,
                          std::span<const push::FileHint* const> profile,
                          const push::FileVersion& version) {
  for (const push::FileHint* const hint : profile)
    stream.add_hint(push::HintOrigin::kProfile, *hint);
  for (const push::FileHint* const hint : push::hints_for(hints_, stream.path(), version))
    stream.add_hint(push::HintOrigin::kHintFile, *hint);
}

/// The stream that was prepared for the file; null if there is none, or for another version.
std::unique_ptr<FileStream> Foresight::take_prepared(ProcessState& state, const OpenFile& open) {
  auto taken = state.prepared.extract(open.file->path());
  if (taken.empty()) return nullptr;
  Prepared& prepared = taken.mapped();
  if (push::is_unchanged(prepared.version, open.version)) return std::move(prepared.stream);
  end_stream(open.file->path(), *prepared.stream);
  return nullptr;
}

void Foresight::add_prepared(ProcessState& state, const std::string& path, Prepared prepared) {
  if (const auto old = state.prepared.extract(path); !old.empty())
    end_stream(path, *old.mapped().stream);
  if (state.prepared.size() >= kPreparedMax) {
    const auto oldest = std::ranges::min_element(
        state.prepared, {}, [](const auto& one) { return one.second.stream->number(); });
    end_stream(oldest->first, *oldest->second.stream);
    state.prepared.erase(oldest);
  }
  state.prepared.emplace(path, std::move(prepared));
}

/// Begins to read files that the process will probably open.
void Foresight::prepare(std::uint32_t process, const FilesAhead::Next& next) {
  ProcessState& state = processes_.at(process);
  std::uint64_t ahead_bytes = 0;
  for (const auto& [path, prepared] : state.prepared)
    ahead_bytes += prepared.stream->counts().ahead_bytes;
  const auto begin = [&](const std::string& path, const push::FileVersion& version,
                         std::span<const push::FileHint* const> hints, std::uint64_t loads_max) {
    auto stream = std::make_unique<FileStream>(
        std::make_shared<LazyFile>(path, FileIds{0, 0, version}), next_stream_++);
    add_hints(*stream, hints, version);
    if (ahead_bytes < prepared_bytes_max_) stream->begin(warmer_, loads_max);
    ahead_bytes += stream->counts().ahead_bytes;
    add_prepared(state, path, {std::move(stream), version});
  };
  for (const std::string& path : next.planned) {
    const auto hints = profile_.hints_for(process, path, {});
    begin(path, hints.empty() ? push::FileVersion() : hints.front()->version, hints,
          std::min(loads_max_, kPreparedLoadsMax));
  }
  if (next.series.empty()) return;
  const push::FileHint expected{.signature = signature_of_first(state.last_reads)};
  const push::FileHint* const hint = &expected;
  for (const std::string& path : next.series)
    begin(path, {}, {&hint, 1}, loads_max_);
}

FileStream& Foresight::stream_of(std::uint32_t ring, const FileKey& key, OpenFile& open) {
  auto& stream = open.streams[ring];
  if (stream) return *stream;
  stream = take_prepared(processes_.at(key.first), open);
  if (!stream) stream = make_stream(key.first, open);
  return *stream;
}

Activity Foresight::record(const ThreadId& thread, const trace::TraceRecord& record) {
  const FileKey key{thread.process, record.file};
  const auto open = files_.find(key);
  if (open == files_.end() || record.operation != trace::TraceOperation::kRead)
    return Activity::kFast;
  if ((record.flags & trace::kFlagMapped) != 0) {
    open->second.is_mapped = true;
    return Activity::kFast;
  }
  processes_.at(key.first).has_begun = true;
  FileStream& stream = stream_of(thread.ring, key, open->second);
  if (stream.observe(record, warmer_, loads_max_)) return Activity::kFast;
  prepare(key.first, processes_.at(key.first).files.wait());
  return Activity::kSlow;
}

/// The dynamic linker reads and maps libraries by calls that nothing can wrap. The next run reads
/// them ahead as a whole.
void Foresight::load_library(const trace::RunOpen& library) {
  if (library.size_bytes == 0 || library.size_bytes > FileStream::kWholeBytesMax) return;
  const std::string path(library.path.data(), library.path_bytes);
  const auto process = processes_.find(library.process);
  if (process != processes_.end() && process->second.prepared.contains(path))
    total_of(path).is_mapped = true;
  profile_.learn(library.process, {path, {library.size_bytes, library.modified_ns}},
                 {{0, library.size_bytes}});
}

Foresight::FileTotal& Foresight::total_of(const std::string& path) {
  const bool is_listed = totals_.size() < kTotalsMax || totals_.contains(path);
  return totals_[is_listed ? path : kOtherFiles];
}

/// Adds the stream to the report.
void Foresight::end_stream(const std::string& path, FileStream& stream) {
  warmer_.cancel(stream.number());
  const double saved_s = stream.end(warmer_.unloaded_latency());
  saved_.add(stream.begin_ns(), stream.end_ns(), saved_s);
  FileTotal& total = total_of(path);
  total.counts += stream.counts();
  total.saved_s += saved_s;
}

void Foresight::close_file(const FileKey& key) {
  const auto found = files_.find(key);
  if (found == files_.end()) return;
  const OpenFile& open = found->second;
  const std::string& path = open.file->path();
  total_of(path).is_mapped |= open.is_mapped;
  for (const auto& [ring, stream] : open.streams) {
    end_stream(path, *stream);
    ProcessState& process = processes_.at(key.first);
    const auto& reads = stream->reads();
    const std::size_t count = std::min(reads.size(), kSeriesReads);
    process.last_reads.assign(reads.begin(), reads.begin() + static_cast<std::ptrdiff_t>(count));
    const StreamCounts& counts = stream->counts();
    const bool is_useful = counts.hits + counts.late + counts.misses > 0;
    process.files.close(is_useful ? FilesAhead::Help::kUseful : FilesAhead::Help::kNone);
    profile_.learn(key.first, {path, open.version, stream->begin_ns()}, stream->reads());
  }
  files_.erase(found);
}

/// Limits what is ahead to half of the free memory.
void Foresight::check() {
  std::uint64_t streams = 1;
  for (const auto& [key, open] : files_)
    streams += open.streams.size();
  const std::uint64_t useful =
      std::max<std::uint64_t>(kLoadsMin, kLoadsPerSlot * warmer_.concurrency());
  const auto free = free_memory_bytes();
  const std::uint64_t affordable = free ? *free / 2 / streams / PageWarmer::kPartBytes : useful;
  loads_max_ = std::clamp<std::uint64_t>(affordable, 1, useful);
  const std::uint64_t processes = std::max<std::size_t>(processes_.size(), 1);
  prepared_bytes_max_ = free ? *free / kPreparedShare / processes : kPreparedBytes;
}

nlohmann::json Foresight::files_document() const {
  nlohmann::json files = nlohmann::json::array();
  for (const auto& [path, total] : totals_) {
    nlohmann::json signatures = nlohmann::json::array();
    for (const push::FileHint& hint : profile_.learned(path)) {
      signatures.push_back({{"signature", trace::to_text(*hint.signature)},
                            {"reads", hint.reads},
                            {"explained", hint.explained}});
    }
    const StreamCounts& counts = total.counts;
    const bool is_loaded = counts.loaded_bytes > 0;
    const bool is_unseen = total.is_mapped && counts.reads == 0;
    files.push_back(
        {{"path", path},
         {"reads", counts.reads},
         {"bytes", counts.bytes},
         {"hits", is_loaded ? counts.hits : 0},
         {"late", counts.late},
         {"misses", counts.misses},
         {"read_ahead_bytes", counts.loaded_bytes},
         {"wasted_bytes", is_unseen ? 0 : counts.wasted_bytes()},
         {"wait_s", static_cast<double>(counts.wait_ns) / 1e9},
         {"saved_s", total.saved_s},
         {"signatures", std::move(signatures)},
         {"left_alone",
          is_loaded ? nlohmann::json() : nlohmann::json(reason_of(counts, total.is_mapped))}});
  }
  return files;
}

nlohmann::json Foresight::finish() {
  warmer_.stop();
  profile_.write();
  return {{"files", files_document()},
          {"read_ahead_bytes", warmer_.bytes_read()},
          {"saved_s", saved_.seconds()},
          {"storage_concurrency", warmer_.concurrency()},
          {"storage_latency_s", static_cast<double>(warmer_.unloaded_latency().count()) / 1e9}};
}

}  // namespace forebay::run
