// SPDX-License-Identifier: Apache-2.0
// Job: the processes of one `forebay run` on this node: takes their records from the shared memory,
// and reads ahead for them.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/descriptor.hpp"
#include "tools/run/file_stream.hpp"
#include "tools/run/profile.hpp"
#include "trace/run_memory.hpp"

namespace forebay::run {

/// One thread.
class Job {
 public:
  struct Options {
    std::string profile_folder;  ///< empty: nothing is learned or remembered
  };
  /// Creates the memory.
  static Result<std::unique_ptr<Job>> create(const Options& options);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Where processes open the memory.
  std::string memory_path() const;
  enum class Activity : std::uint8_t {
    kNone,
    kFast,  ///< reads that need no help, or have it
    kSlow,  ///< also reads that waited for storage
  };
  /// Handles all records that have arrived.
  Activity poll();
  /// Sleeps until a process has recorded something, at most `limit`.
  void sleep(std::chrono::nanoseconds limit);
  /// Ends sleep(). Any thread.
  void wake();
  /// Handles what is left and writes the profile.
  void finish();
  /// What was done, as docs/guides/run.md states.
  nlohmann::json report() const;

 private:
  /// A file that a process has open.
  struct OpenFile {
    std::string path;
    std::shared_ptr<LazyFile> file;
    std::map<std::uint32_t, std::unique_ptr<FileStream>> streams;  ///< by ring
  };
  using FileKey = std::pair<std::uint32_t, std::uint16_t>;  ///< process, file

  explicit Job(const Options& options);
  Status map();
  void take_opens();
  void add_file(const trace::RunOpen& open);
  Activity handle(std::uint32_t ring, const trace::TraceRecord& record);
  void close_file(const FileKey& key);
  void update_processes();
  void end_process(std::uint32_t process);
  FileStream* stream_of(std::uint32_t ring, const FileKey& key);
  void add_process(std::uint32_t process);
  void prepare_process(std::uint32_t process);
  void prepare_series(std::uint32_t process, const std::string& path);
  std::unique_ptr<FileStream> make_stream(std::uint32_t process, std::shared_ptr<LazyFile> file);

  Profile profile_;
  Descriptor descriptor_;
  trace::RunMemory* memory_ = nullptr;
  PageWarmer warmer_;
  std::map<FileKey, OpenFile> files_;
  /// Of files that a process will probably read, until it does.
  std::map<std::pair<std::uint32_t, std::string>, std::unique_ptr<FileStream>> prepared_;
  /// Files that a process has opened one after the other.
  struct Series {
    std::vector<std::string> names;         ///< the newest, oldest first
    std::vector<trace::Access> last_reads;  ///< of the file that was closed last
  };
  std::map<std::uint32_t, Series> series_;  ///< by process
  std::set<std::uint32_t> prepared_processes_;
  std::map<std::string, StreamCounts> totals_;  ///< of closed files, by path
  std::uint64_t next_stream_ = 1;
  std::uint64_t lost_records_ = 0;
  std::uint64_t lost_opens_ = 0;
  std::uint64_t processes_ = 0;
  TimePoint next_check_ = {};
  TimePoint incomplete_since_ = {};
};

}  // namespace forebay::run
