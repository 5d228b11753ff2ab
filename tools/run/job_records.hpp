// SPDX-License-Identifier: Apache-2.0
// JobRecords: the memory that the processes of one `forebay run` on this node share with their
// agent, and what they record there (docs/formats/run-memory.md).
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "trace/run_memory.hpp"

namespace forebay::run {

/// A file that a process has open: number of the process, number that the process gave the file.
using FileKey = std::pair<std::uint32_t, std::uint16_t>;

/// A process of the job, until it ends. Another one can have its number then.
struct Process {
  std::uint32_t number = 0;
  std::uint32_t pid = 0;
  std::uint32_t rank = trace::RunProcess::kNoRank;
  std::vector<std::string> words = {};  ///< of its command line
};

/// A thread that records. Another one can have its ring later.
struct ThreadId {
  std::uint32_t ring = 0;
  std::uint32_t process = 0;
  std::uint32_t thread = 0;  ///< as gettid()
};

enum class Activity : std::uint8_t {
  kNone,
  kFast,  ///< reads that need no help, or have it
  kSlow,  ///< also reads that waited for storage
};

/// Receives what the processes of a job do. One thread.
class JobObserver {
 public:
  JobObserver() = default;
  virtual ~JobObserver() = default;
  JobObserver(const JobObserver&) = delete;
  JobObserver& operator=(const JobObserver&) = delete;

  virtual void begin_process(const Process& process) = 0;
  /// All its files were closed before.
  virtual void end_process(std::uint32_t process) = 0;
  virtual void open_file(const FileKey& key, const trace::RunOpen& open) = 0;
  virtual void close_file(const FileKey& key) = 0;
  /// The process has loaded a shared object. It reports them when it ends.
  virtual void load_library(const trace::RunOpen& library) = 0;
  /// A call on an open file, except its close.
  virtual Activity record(const ThreadId& thread, const trace::TraceRecord& record) = 0;
  /// Records of the thread that its ring had no place for.
  virtual void lose(const ThreadId& thread, std::uint64_t count) = 0;
  /// Once a second.
  virtual void check() = 0;
};

/// One thread, except wake().
class JobRecords {
 public:
  /// Creates the memory. `observer` must outlive the records.
  static Result<std::unique_ptr<JobRecords>> create(JobObserver& observer);
  ~JobRecords();
  JobRecords(const JobRecords&) = delete;
  JobRecords& operator=(const JobRecords&) = delete;

  /// Where processes open the memory.
  std::string memory_path() const;
  /// Passes all records that have arrived to the observer.
  Activity poll();
  /// Sleeps until a process has recorded something, at most `limit`.
  void sleep(std::chrono::nanoseconds limit);
  /// Ends sleep(). Any thread.
  void wake();
  /// Passes what is left, and closes all files and processes.
  void finish();

  struct Counts {
    std::uint64_t processes = 0;
    std::uint64_t lost_records = 0;
    std::uint64_t lost_files = 0;
    std::uint64_t unrecorded_threads = 0;
    std::uint64_t unrecorded_processes = 0;
  };
  Counts counts() const;
  /// Programs that processes have executed, as they named them; the first kProgramsMax.
  const std::set<std::string>& programs() const noexcept { return programs_; }

 private:
  static constexpr std::size_t kProgramsMax = 1000;

  explicit JobRecords(JobObserver& observer) : observer_(observer) {}
  Status map();
  void take_opens();
  void take_open(const trace::RunOpen& open);
  Activity take_ring(std::uint32_t number);
  Activity take_record(const ThreadId& thread, const trace::TraceRecord& record);
  void close_file(const FileKey& key);
  void update_processes();
  void begin_process(std::uint32_t number);
  void end_process(std::uint32_t number);

  JobObserver& observer_;
  Descriptor descriptor_;
  trace::RunMemory* memory_ = nullptr;
  std::set<std::uint32_t> processes_;
  std::set<FileKey> files_;
  std::set<std::string> programs_;
  Counts counts_;
  TimePoint next_check_ = {};
  TimePoint incomplete_since_ = {};
};

}  // namespace forebay::run
