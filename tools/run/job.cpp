// SPDX-License-Identifier: Apache-2.0
#include "tools/run/job.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "push/file_series.hpp"

namespace forebay::run {

namespace {

using trace::RunMemory;
using trace::RunPartState;

constexpr unsigned kThreadsMax = 32;
/// Reads that are ahead at most, in parts of PageWarmer::kPartBytes.
constexpr std::uint64_t kLoadsMax = 64;
/// Files of a program that are opened ahead.
constexpr std::size_t kPreparedMax = 256;
/// Names of a series that decide, and its files that are read ahead.
constexpr std::size_t kSeriesNames = 4;
constexpr std::size_t kSeriesAhead = 2;
/// Reads of a file that are expected of the next one.
constexpr std::size_t kSeriesReads = 256;
/// Interval at which dead processes are searched, and after which an incomplete entry is skipped.
constexpr std::chrono::seconds kCheckInterval{1};

std::shared_ptr<const trace::Signature> signature_of_first(std::span<const trace::Access> reads) {
  trace::ListItem list;
  for (const trace::Access& read : reads.first(std::min(reads.size(), kSeriesReads)))
    list.accesses.push_back({read.offset, read.size});
  trace::Signature signature;
  signature.items.emplace_back(std::move(list));
  return std::make_shared<const trace::Signature>(std::move(signature));
}

}  // namespace

Result<std::unique_ptr<Job>> Job::create(const Options& options) {
  std::unique_ptr<Job> job(new Job(options));
  if (Status mapped = job->map(); !mapped) return failure(mapped.error());
  return job;
}

Job::Job(const Options& options) : profile_(options.profile_folder), warmer_(kThreadsMax) {}

Job::~Job() {
  warmer_.stop();
  if (memory_ == nullptr) return;
  memory_->agent.store(trace::RunAgentState::kEnded, std::memory_order_release);
  ::munmap(memory_, sizeof(RunMemory));
}

Status Job::map() {
  const auto failed = [] {
    return failure(system_error({.operation = "create the memory of a job"}, errno));
  };
  descriptor_ = Descriptor(::memfd_create("forebay-run", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor_ || ::ftruncate(descriptor_.get(), sizeof(RunMemory)) != 0) return failed();
  // A process that made it shorter would end all others.
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fcntl(descriptor_.get(), F_ADD_SEALS, kSeals) != 0) return failed();
  void* const mapped =
      ::mmap(nullptr, sizeof(RunMemory), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (mapped == MAP_FAILED) return failed();
  memory_ = static_cast<RunMemory*>(mapped);  // all zero: the initial state of its parts
  memory_->opens.initialize();
  memory_->version = RunMemory::kVersion;
  memory_->magic = RunMemory::kMagic;
  memory_->agent.store(trace::RunAgentState::kActive, std::memory_order_release);
  return {};
}

std::string Job::memory_path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor_.get());
}

std::unique_ptr<FileStream> Job::make_stream(std::uint32_t process,
                                             std::shared_ptr<LazyFile> file) {
  auto stream = std::make_unique<FileStream>(file, next_stream_++);
  for (auto& signature : profile_.hints_for(process, file->path()))
    stream->add_hint(std::move(signature));
  return stream;
}

void Job::add_process(std::uint32_t process) {
  if (profile_.has_process(process)) return;
  const trace::RunProcess& part = memory_->processes[process];
  const std::string_view command(part.command.data(),
                                 std::min<std::size_t>(part.command_bytes, part.command.size()));
  std::vector<std::string> words;
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find('\0', at), command.size());
    words.emplace_back(command.substr(at, end - at));
    at = end + 1;
  }
  profile_.add_process(process, words);
}

/// Begins to read what earlier runs of the program have read, once it has waited for storage: a
/// program whose files are cached needs nothing.
void Job::prepare_process(std::uint32_t process) {
  if (!prepared_processes_.insert(process).second) return;
  for (const std::string& path : profile_.files(process, kPreparedMax)) {
    const auto is_open = [&](const auto& one) {
      return one.first.first == process && one.second.path == path;
    };
    if (std::ranges::any_of(files_, is_open)) continue;  // its stream has the hint
    auto& stream = prepared_[{process, path}];
    stream = make_stream(process, std::make_shared<LazyFile>(path, FileIds()));
    stream->begin(warmer_, kLoadsMax);
  }
}

/// Begins to read the next files of a numbered or dated series, as the last one was read.
void Job::prepare_series(std::uint32_t process, const std::string& path) {
  Series& series = series_[process];
  if (!series.names.empty() && series.names.back() == path) return;
  if (series.names.size() == kSeriesNames) series.names.erase(series.names.begin());
  series.names.push_back(path);
  if (series.last_reads.empty()) return;
  const auto signature = signature_of_first(series.last_reads);
  std::vector<std::string> names = series.names;
  for (std::size_t i = 0; i < kSeriesAhead; ++i) {
    const auto next = push::next_in_series(names);
    if (!next) return;
    names.push_back(*next);
    const auto [prepared, is_new] = prepared_.try_emplace({process, *next});
    if (!is_new) continue;
    prepared->second =
        std::make_unique<FileStream>(std::make_shared<LazyFile>(*next, FileIds()), next_stream_++);
    prepared->second->add_hint(signature);
    prepared->second->begin(warmer_, kLoadsMax);
  }
}

void Job::add_file(const trace::RunOpen& open) {
  if (open.process >= RunMemory::kProcesses || open.path_bytes > trace::RunOpen::kPathMax) return;
  const FileKey key{open.process, open.file};
  close_file(key);
  const std::string path(open.path.data(), open.path_bytes);
  files_[key] = {path, std::make_shared<LazyFile>(path, FileIds{open.device, open.inode}), {}};
  prepare_series(open.process, path);
}

void Job::take_opens() {
  while (true) {
    if (const trace::RunOpen* const front = memory_->opens.front()) {
      const trace::RunOpen open = *front;  // its process could change it while it is checked
      add_file(open);
      memory_->opens.pop();
      incomplete_since_ = {};
      continue;
    }
    if (!memory_->opens.is_incomplete()) return;
    // Its process fills it, or has died.
    const TimePoint now = std::chrono::steady_clock::now();
    if (incomplete_since_ == TimePoint{}) incomplete_since_ = now;
    if (now - incomplete_since_ < kCheckInterval) return;
    memory_->opens.pop();
    incomplete_since_ = {};
  }
}

FileStream* Job::stream_of(std::uint32_t ring, const FileKey& key) {
  auto found = files_.find(key);
  if (found == files_.end()) {
    take_opens();  // its entry precedes the record
    found = files_.find(key);
  }
  if (found == files_.end()) return nullptr;
  auto& stream = found->second.streams[ring];
  if (stream) return stream.get();
  const auto prepared = prepared_.find({key.first, found->second.path});
  if (prepared != prepared_.end()) {
    stream = std::move(prepared->second);
    prepared_.erase(prepared);
  } else {
    stream = make_stream(key.first, found->second.file);
  }
  return stream.get();
}

Job::Activity Job::handle(std::uint32_t ring, const trace::TraceRecord& record) {
  const FileKey key{memory_->rings[ring].process, record.file};
  if (!trace::is_valid(record)) return Activity::kNone;
  if (record.operation == trace::TraceOperation::kClose) {
    close_file(key);
    return Activity::kFast;
  }
  FileStream* const stream = stream_of(ring, key);
  if (stream == nullptr) return Activity::kFast;
  if (stream->observe(record, warmer_, kLoadsMax)) return Activity::kFast;
  prepare_process(key.first);
  return Activity::kSlow;
}

Job::Activity Job::poll() {
  update_processes();
  take_opens();
  Activity activity = Activity::kNone;
  const std::uint32_t rings = std::min<std::uint32_t>(memory_->ring_end, RunMemory::kRings);
  for (std::uint32_t i = 0; i < rings; ++i) {
    trace::RunRing& ring = memory_->rings[i];
    const RunPartState state = ring.state.load(std::memory_order_acquire);
    if (state != RunPartState::kActive && state != RunPartState::kEnded) continue;
    const auto content = ring.ring.content();
    lost_records_ += content.lost;
    for (const auto part : {content.first, content.second}) {
      for (const trace::TraceRecord& record : part)
        activity = std::max(activity, handle(i, record));
    }
    ring.ring.release(content);
    if (state == RunPartState::kEnded)
      ring.state.store(RunPartState::kFree, std::memory_order_release);
  }
  return activity;
}

void Job::sleep(std::chrono::nanoseconds limit) {
  memory_->doorbell.store(1, std::memory_order_seq_cst);
  if (poll() != Activity::kNone) {
    memory_->doorbell.store(0, std::memory_order_relaxed);
    return;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec wait{.tv_sec = seconds.count(), .tv_nsec = (limit - seconds).count()};
  ::syscall(SYS_futex, &memory_->doorbell, FUTEX_WAIT, 1, &wait, nullptr, 0);
  memory_->doorbell.store(0, std::memory_order_relaxed);
}

void Job::wake() {
  memory_->doorbell.store(0, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &memory_->doorbell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// Prepares for new processes. Frees the parts of those that have ended or died.
void Job::update_processes() {
  const TimePoint now = std::chrono::steady_clock::now();
  const bool is_check = now >= next_check_;
  if (is_check) next_check_ = now + kCheckInterval;
  const std::uint32_t end = std::min<std::uint32_t>(memory_->process_end, RunMemory::kProcesses);
  for (std::uint32_t i = 0; i < end; ++i) {
    trace::RunProcess& process = memory_->processes[i];
    const RunPartState state = process.state.load(std::memory_order_acquire);
    if (state == RunPartState::kFree || state == RunPartState::kTaken) continue;
    add_process(i);
    const bool is_dead = state == RunPartState::kEnded ||
                         (is_check && process.pid != 0 &&
                          ::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH);
    if (is_dead) end_process(i);
  }
}

void Job::end_process(std::uint32_t process) {
  ++processes_;
  take_opens();
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(memory_->ring_end, RunMemory::kRings);
       ++i) {
    trace::RunRing& ring = memory_->rings[i];
    const RunPartState state = ring.state.load(std::memory_order_acquire);
    const bool is_used = state == RunPartState::kActive || state == RunPartState::kEnded;
    if (!is_used || ring.process != process) continue;
    const auto content = ring.ring.content();
    lost_records_ += content.lost;
    for (const auto part : {content.first, content.second}) {
      for (const trace::TraceRecord& record : part)
        handle(i, record);
    }
    ring.ring.release(content);
    ring.state.store(RunPartState::kFree, std::memory_order_release);
  }
  std::vector<FileKey> open;
  for (const auto& [key, file] : files_)
    if (key.first == process) open.push_back(key);
  for (const FileKey& key : open)
    close_file(key);
  std::erase_if(prepared_, [&](const auto& one) {
    if (one.first.first == process) warmer_.cancel(one.second->number());
    return one.first.first == process;
  });
  profile_.end_process(process);
  series_.erase(process);
  prepared_processes_.erase(process);
  lost_opens_ += memory_->processes[process].lost_opens.load(std::memory_order_relaxed);
  memory_->processes[process].pid = 0;
  memory_->processes[process].state.store(RunPartState::kFree, std::memory_order_release);
}

void Job::close_file(const FileKey& key) {
  const auto found = files_.find(key);
  if (found == files_.end()) return;
  for (auto& [ring, stream] : found->second.streams) {
    warmer_.cancel(stream->number());
    totals_[found->second.path] += stream->counts();
    series_[key.first].last_reads = stream->reads();
    profile_.learn(key.first, found->second.path, stream->reads());
  }
  files_.erase(found);
}

void Job::finish() {
  poll();
  while (!files_.empty())
    close_file(files_.begin()->first);
  warmer_.stop();
  profile_.write();
}

nlohmann::json Job::report() const {
  nlohmann::json files = nlohmann::json::array();
  for (const auto& [path, counts] : totals_) {
    files.push_back({{"path", path},
                     {"reads", counts.reads},
                     {"bytes", counts.bytes},
                     {"hits", counts.hits},
                     {"late", counts.late},
                     {"misses", counts.misses},
                     {"read_ahead_bytes", counts.ahead_bytes},
                     {"wait_s", static_cast<double>(counts.wait_ns) / 1e9}});
  }
  return {{"files", files},
          {"processes", processes_},
          {"read_ahead_bytes", warmer_.bytes_read()},
          {"lost_records", lost_records_},
          {"lost_files", lost_opens_},
          {"unrecorded_threads", memory_->unrecorded_threads.load()},
          {"unrecorded_processes", memory_->unrecorded_processes.load()},
          {"storage_latency_s", static_cast<double>(warmer_.latency().count()) / 1e9}};
}

}  // namespace forebay::run
