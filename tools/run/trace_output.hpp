// SPDX-License-Identifier: Apache-2.0
// TraceOutput: writes what the processes of a job read to a trace (docs/formats/trace.md).
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/run/job_records.hpp"
#include "trace/trace_writer.hpp"

namespace forebay::run {

/// Threads and files get numbers with their first record. Beyond a limit of traces, and after a
/// failed write, records are counted as lost.
class TraceOutput final : public JobObserver {
 public:
  /// Creates the trace, or empties it.
  static Result<std::unique_ptr<TraceOutput>> create(const std::string& path);

  void begin_process(const Process& process) override;
  void end_process(std::uint32_t process) override;
  void open_file(const FileKey& key, const trace::RunOpen& open) override;
  void close_file(const FileKey& key) override { files_.erase(key); }
  void load_library(const trace::RunOpen& /*library*/) override {}
  Activity record(const ThreadId& thread, const trace::TraceRecord& record) override;
  void lose(const ThreadId& thread, std::uint64_t count) override;
  void check() override { flush(); }

  /// After the end of all processes: completes the trace. Returns how many records, threads and
  /// files it has.
  nlohmann::json finish();

 private:
  struct Source {
    std::uint32_t number = 0;
    std::vector<trace::TraceRecord> records = {};  ///< not written yet
    std::uint64_t lost = 0;
  };

  explicit TraceOutput(trace::TraceWriter writer);
  Source* source_of(const ThreadId& thread);
  void write(Source& source);
  void flush();
  /// True if there is a value. Else keeps the first Error.
  template <class T>
  bool keep(const T& result) {
    if (!result && !error_) error_ = result.error();
    return static_cast<bool>(result);
  }

  trace::TraceWriter writer_;
  const std::uint64_t begin_ns_;
  std::map<std::uint32_t, Process> processes_;
  std::map<FileKey, std::uint16_t> files_;
  std::map<std::pair<std::string, std::uint64_t>, std::uint16_t> numbers_;  ///< by path, inode
  std::map<std::pair<std::uint32_t, std::uint32_t>, Source> sources_;       ///< by process, thread
  std::uint64_t source_count_ = 0;  ///< also of processes that have ended
  std::uint64_t file_count_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t lost_ = 0;
  std::optional<Error> error_;  ///< the first one
};

}  // namespace forebay::run
