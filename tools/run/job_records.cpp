// SPDX-License-Identifier: Apache-2.0
#include "tools/run/job_records.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process_namespace.hpp"

namespace forebay::run {

namespace {

using trace::RunMemory;
using trace::RunOpenKind;
using trace::RunPartState;

/// Interval at which dead processes are searched, and after which an incomplete entry is skipped.
constexpr std::chrono::seconds kCheckInterval{1};

bool is_in_use(RunPartState state) {
  return state == RunPartState::kActive || state == RunPartState::kEnded;
}

/// False if that is unknown: a number of another namespace is that of another process here.
bool is_dead_process(const trace::RunProcess& part) {
  static const std::uint64_t own = process_namespace();
  return part.pid != 0 && part.pid_namespace == own && own != 0 &&
         ::kill(static_cast<pid_t>(part.pid), 0) != 0 && errno == ESRCH;
}

/// Without the namespace: the pid of the next process is not looked up until it has stated its own.
void free_process(trace::RunProcess& part) {
  part.pid = 0;
  part.pid_namespace = 0;
  part.state.store(RunPartState::kFree, std::memory_order_release);
}

std::vector<std::string> words_of(const trace::RunProcess& part) {
  const std::string_view command(part.command.data(),
                                 std::min<std::size_t>(part.command_bytes, part.command.size()));
  std::vector<std::string> words;
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find('\0', at), command.size());
    words.emplace_back(command.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

Result<std::unique_ptr<JobRecords>> JobRecords::create(JobObserver& observer) {
  std::unique_ptr<JobRecords> records(new JobRecords(observer));
  if (Status mapped = records->map(); !mapped) return failure(mapped.error());
  return records;
}

JobRecords::~JobRecords() {
  if (memory_ != nullptr) ::munmap(memory_, sizeof(RunMemory));
}

Status JobRecords::map() {
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
  return {};
}

std::string JobRecords::memory_path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor_.get());
}

void JobRecords::take_open(const trace::RunOpen& open) {
  const bool is_valid = open.process < RunMemory::kProcesses &&
                        open.path_bytes <= trace::RunOpen::kPathMax &&
                        open.kind <= RunOpenKind::kLibrary;
  if (!is_valid) return;
  if (open.kind == RunOpenKind::kProgram) {
    if (programs_.size() < kProgramsMax) programs_.emplace(open.path.data(), open.path_bytes);
    return;
  }
  if (!is_in_use(memory_->processes[open.process].state)) return;  // it has ended
  begin_process(open.process);
  if (open.kind == RunOpenKind::kLibrary) return observer_.load_library(open);
  const FileKey key{open.process, open.file};
  close_file(key);
  files_.insert(key);
  observer_.open_file(key, open);
}

/// Also if processes add entries all the time, it ends. What precedes a record is among these.
void JobRecords::take_opens() {
  for (std::size_t i = 0; i < trace::RunOpenQueue::kEntries; ++i) {
    if (const trace::RunOpen* const front = memory_->opens.front()) {
      const trace::RunOpen open = *front;  // its process could change it while it is checked
      take_open(open);
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

void JobRecords::close_file(const FileKey& key) {
  if (files_.erase(key) != 0) observer_.close_file(key);
}

Activity JobRecords::take_record(const ThreadId& thread, const trace::TraceRecord& record) {
  if (!trace::is_valid(record)) return Activity::kNone;
  const FileKey key{thread.process, record.file};
  if (!files_.contains(key)) take_opens();  // its entry precedes the record
  if (!files_.contains(key)) return Activity::kFast;
  if (record.operation != trace::TraceOperation::kClose) return observer_.record(thread, record);
  close_file(key);
  return Activity::kFast;
}

Activity JobRecords::take_ring(std::uint32_t number) {
  trace::RunRing& ring = memory_->rings[number];
  const RunPartState state = ring.state.load(std::memory_order_acquire);
  const ThreadId thread{number, ring.process, ring.thread};
  if (!is_in_use(state) || thread.process >= RunMemory::kProcesses) return Activity::kNone;
  Activity activity = Activity::kNone;
  const auto content = ring.ring.content();
  for (const auto part : {content.first, content.second}) {
    for (const trace::TraceRecord record : part)  // a process could change it meanwhile
      activity = std::max(activity, take_record(thread, record));
  }
  ring.ring.release(content);
  if (content.lost > 0) observer_.lose(thread, content.lost);
  counts_.lost_records += content.lost;
  if (state == RunPartState::kEnded)
    ring.state.store(RunPartState::kFree, std::memory_order_release);
  return activity;
}

Activity JobRecords::poll() {
  update_processes();
  take_opens();
  Activity activity = Activity::kNone;
  const std::uint32_t rings = std::min<std::uint32_t>(memory_->ring_end, RunMemory::kRings);
  for (std::uint32_t i = 0; i < rings; ++i)
    activity = std::max(activity, take_ring(i));
  return activity;
}

void JobRecords::sleep(std::chrono::nanoseconds limit) {
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

void JobRecords::wake() {
  memory_->doorbell.store(0, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &memory_->doorbell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// Begins new processes, and frees the parts of those that have ended or died.
void JobRecords::update_processes() {
  const TimePoint now = std::chrono::steady_clock::now();
  const bool is_check = now >= next_check_;
  if (is_check) next_check_ = now + kCheckInterval;
  const std::uint32_t end = std::min<std::uint32_t>(memory_->process_end, RunMemory::kProcesses);
  for (std::uint32_t i = 0; i < end; ++i) {
    trace::RunProcess& part = memory_->processes[i];
    const RunPartState state = part.state.load(std::memory_order_acquire);
    const bool is_dead = is_check && state != RunPartState::kFree && is_dead_process(part);
    if (state == RunPartState::kTaken && is_dead) free_process(part);  // died when it began
    if (!is_in_use(state)) continue;
    begin_process(i);
    if (is_dead || state == RunPartState::kEnded) end_process(i);
  }
  if (is_check) observer_.check();
}

void JobRecords::begin_process(std::uint32_t number) {
  if (!processes_.insert(number).second) return;
  ++counts_.processes;
  const trace::RunProcess& part = memory_->processes[number];
  observer_.begin_process({number, part.pid, part.rank, words_of(part)});
}

void JobRecords::end_process(std::uint32_t number) {
  if (!processes_.contains(number)) return;
  take_opens();
  const std::uint32_t rings = std::min<std::uint32_t>(memory_->ring_end, RunMemory::kRings);
  for (std::uint32_t i = 0; i < rings; ++i) {
    trace::RunRing& ring = memory_->rings[i];
    if (!is_in_use(ring.state.load(std::memory_order_acquire)) || ring.process != number) continue;
    take_ring(i);
    ring.state.store(RunPartState::kFree, std::memory_order_release);
  }
  for (auto file = files_.lower_bound({number, 0}); file != files_.end() && file->first == number;
       file = files_.lower_bound({number, 0}))
    close_file(FileKey(*file));
  observer_.end_process(number);
  processes_.erase(number);
  trace::RunProcess& part = memory_->processes[number];
  counts_.lost_files += part.lost_opens.load(std::memory_order_relaxed);
  free_process(part);
}

void JobRecords::finish() {
  poll();
  while (!processes_.empty())
    end_process(*processes_.begin());
}

JobRecords::Counts JobRecords::counts() const {
  Counts counts = counts_;
  counts.unrecorded_threads = memory_->unrecorded_threads.load();
  counts.unrecorded_processes = memory_->unrecorded_processes.load();
  return counts;
}

}  // namespace forebay::run
