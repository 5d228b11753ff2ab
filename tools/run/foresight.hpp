// SPDX-License-Identifier: Apache-2.0
// Foresight: reads ahead for the processes of a job, and learns from their reads for the next run.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/run/file_stream.hpp"
#include "tools/run/files_ahead.hpp"
#include "tools/run/job_records.hpp"
#include "tools/run/profile.hpp"
#include "tools/run/saved_time.hpp"

namespace forebay::run {

class Foresight final : public JobObserver {
 public:
  struct Options {
    std::string profile_folder = {};  ///< empty: nothing is remembered
    std::string hints_path = {};      ///< a hint file for all processes; may be empty
  };
  /// Fails as push::read_hint_file().
  static Result<std::unique_ptr<Foresight>> create(const Options& options);

  void begin_process(const Process& process) override;
  void end_process(std::uint32_t process) override;
  void open_file(const FileKey& key, const trace::RunOpen& open) override;
  void close_file(const FileKey& key) override;
  void load_library(const trace::RunOpen& library) override;
  Activity record(const ThreadId& thread, const trace::TraceRecord& record) override;
  void lose(const ThreadId& /*thread*/, std::uint64_t /*count*/) override {}
  void check() override;

  /// After the end of all processes: writes the profiles, and returns what was done, as
  /// docs/guides/run.md states.
  nlohmann::json finish();

 private:
  struct OpenFile {
    std::shared_ptr<LazyFile> file;
    push::FileVersion version;
    bool is_mapped = false;
    std::map<std::uint32_t, std::unique_ptr<FileStream>> streams = {};  ///< by ring
  };
  struct Prepared {
    std::unique_ptr<FileStream> stream;
    push::FileVersion version;  ///< that its hints are for
  };
  struct ProcessState {
    FilesAhead files;
    /// Streams of files that the process will probably read, until it does.
    std::map<std::string, Prepared> prepared = {};
    std::vector<trace::Access> last_reads = {};  ///< of the file that was closed last
    bool has_begun = false;                      ///< to read
  };
  /// Of all closed streams of a file.
  struct FileTotal {
    StreamCounts counts;
    double saved_s = 0;
    bool is_mapped = false;
  };

  explicit Foresight(const Options& options);
  void add_hints(FileStream& stream,
                 std::span<const push::FileHint* const> profile,
                 const push::FileVersion& version);
  void prepare(std::uint32_t process, const FilesAhead::Next& next);
  void begin_file(const FileKey& key);
  std::unique_ptr<FileStream> make_stream(std::uint32_t process, const OpenFile& open);
  std::unique_ptr<FileStream> take_prepared(ProcessState& state, const OpenFile& open);
  void add_prepared(ProcessState& state, const std::string& path, Prepared prepared);
  FileTotal& total_of(const std::string& path);
  FileStream& stream_of(std::uint32_t ring, const FileKey& key, OpenFile& open);
  void end_stream(const std::string& path, FileStream& stream);
  nlohmann::json files_document() const;

  Profile profile_;
  std::vector<push::FileHint> hints_;  ///< of the hint file
  PageWarmer warmer_;
  std::map<FileKey, OpenFile> files_;
  std::map<std::uint32_t, ProcessState> processes_;
  std::map<std::string, FileTotal> totals_;  ///< by path; kOtherFiles: beyond kTotalsMax
  SavedTime saved_;
  std::uint64_t next_stream_ = 1;
  std::uint64_t loads_max_;
  std::uint64_t prepared_bytes_max_;  ///< of each process
};

}  // namespace forebay::run
