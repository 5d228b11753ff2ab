// SPDX-License-Identifier: Apache-2.0
// The read sessions of a stored dataset: one for each data file that is being read, opened when the
// first request gets there. A few that nobody uses are kept, as the next request mostly wants the
// same file; older ones are closed, so that their windows serve others.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/turns.hpp"
#include "format/catalog.hpp"
#include "read/core.hpp"
#include "restore/open_files.hpp"

namespace forebay::restore {

/// How much memory a session deserves.
enum class Width : std::uint8_t {
  kNarrow,  ///< for small requests, which may go from file to file and come back
  kWide,    ///< for those that keep a device busy
};

/// A session of this rank alone on `extent` of an open file. What `plan`, which is the user's,
/// leaves open follows from the width.
using OpenSession = std::function<Result<std::shared_ptr<read::SessionCore>>(
    const std::shared_ptr<storage::File>& file,
    ByteRange extent,
    const ReadPlan& plan,
    Width width)>;

/// A session, and how many bytes requests have asked it for and not yet taken. Closes it in the
/// end.
class FileSession {
 public:
  FileSession(std::string path, std::shared_ptr<read::SessionCore> core, Width width);
  ~FileSession() {
    if (!core_->is_from_parent()) core_->close();
  }
  FileSession(const FileSession&) = delete;
  FileSession& operator=(const FileSession&) = delete;

  const std::shared_ptr<read::SessionCore>& core() const noexcept { return core_; }
  Width width() const noexcept { return width_; }
  /// Whether it reads this file at least that wide.
  bool suits(const format::StepFile& file, Width width) const noexcept;

  /// Whether a request that waits for others of its loads may ask for so much more: what is asked
  /// for fits in the window then, whoever asks. Takes it if so.
  bool take(std::uint64_t bytes) noexcept;
  /// The same for a request that has nothing else to wait for.
  void take_anyway(std::uint64_t bytes) noexcept { asked_bytes_ += bytes; }
  void give_back(std::uint64_t bytes) noexcept { asked_bytes_ -= bytes; }

 private:
  const std::string path_;  // of the file, which is there once in a dataset
  const std::shared_ptr<read::SessionCore> core_;
  const Width width_;
  const std::uint64_t asked_bytes_max_;
  std::atomic<std::uint64_t> asked_bytes_{0};
};

/// Any thread.
class FileSessions {
 public:
  /// `executor` is where coroutines resume that wait for requests.
  FileSessions(OpenSession open,
               ReadPlan plan,
               Executor& executor,
               std::shared_ptr<comm::Turns> turns)
      : open_(std::move(open)),
        plan_(std::move(plan)),
        executor_(executor),
        turns_(std::move(turns)) {}

  Executor& executor() const noexcept { return executor_; }
  /// What a request needs one of to ask for bytes; null: none.
  const std::shared_ptr<comm::Turns>& turns() const noexcept { return turns_; }

  /// The session on the data of a file that has an index. Opening it does not wait for storage. If
  /// there is no memory (kLimit), those that nobody uses are closed first.
  Result<std::shared_ptr<FileSession>> of(const format::StepFile& file, Width width);
  /// A file for who reads it without a session, and holds none. Blocks.
  Result<std::shared_ptr<storage::File>> file_without_session(const format::StepFile& file);

 private:
  Result<std::shared_ptr<FileSession>> open(const format::StepFile& file, Width width);
  void keep(const std::shared_ptr<FileSession>& session);
  bool drop_idle();

  const OpenSession open_;
  const ReadPlan plan_;
  Executor& executor_;
  const std::shared_ptr<comm::Turns> turns_;
  OpenFiles files_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<FileSession>> open_sessions_;
  std::vector<std::shared_ptr<FileSession>> kept_;  // newest use last
};

}  // namespace forebay::restore
