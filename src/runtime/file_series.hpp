// SPDX-License-Identifier: Apache-2.0
// FileSeries: opens the next file of a numbered or dated series before the program does, and pushes
// its first reads, those of the last file. For sessions with Mode::kOnDemand on whole files.
#pragma once

#include <forebay/read_plan.hpp>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "read/session_core.hpp"
#include "storage/file.hpp"
#include "write/blocking_executor.hpp"

namespace forebay {

/// State of a file, to find out whether a name still leads to the same content.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;
  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};
/// No value if the file cannot be found.
std::optional<FileVersion> version_of(const std::string& path);

/// A file that was opened in advance, and a session on the whole of it. Any thread.
class PreparedFile {
 public:
  PreparedFile(std::shared_ptr<storage::File> buffered,
               FileVersion version,
               ReadPlan requested,
               std::shared_ptr<read::SessionCore> session)
      : buffered_(std::move(buffered)),
        version_(version),
        requested_(std::move(requested)),
        session_(std::move(session)) {}
  ~PreparedFile() {
    if (session_ && !session_->is_from_parent()) session_->close();
  }
  PreparedFile(const PreparedFile&) = delete;
  PreparedFile& operator=(const PreparedFile&) = delete;

  const std::shared_ptr<storage::File>& buffered() const noexcept { return buffered_; }
  const FileVersion& version() const noexcept { return version_; }
  read::SessionCore& session() const noexcept { return *session_; }
  /// The session, once, if it was opened with this plan; else null.
  std::shared_ptr<read::SessionCore> take(const ReadPlan& requested) {
    const std::lock_guard lock(mutex_);
    return requested == requested_ ? std::move(session_) : nullptr;
  }

 private:
  const std::shared_ptr<storage::File> buffered_;
  const FileVersion version_;
  const ReadPlan requested_;
  std::mutex mutex_;
  std::shared_ptr<read::SessionCore> session_;
};

/// Any thread.
class FileSeries {
 public:
  static constexpr std::size_t kNamesMax = 4;
  /// Files that are prepared at a time: opening one takes several round trips to a server.
  static constexpr std::size_t kPreparedMax = 2;

  /// Opens the file and a session on it. Called on a thread of its own.
  using Prepare = std::function<Result<std::shared_ptr<PreparedFile>>(const std::string& path,
                                                                      const ReadPlan& requested)>;
  explicit FileSeries(Prepare prepare) : prepare_(std::move(prepare)) {}
  ~FileSeries() { stop(); }
  FileSeries(const FileSeries&) = delete;
  FileSeries& operator=(const FileSeries&) = delete;

  /// The program has opened a session. Begins to prepare the next file, if there is one.
  void record(const std::string& path,
              const ReadPlan& requested,
              const std::shared_ptr<read::SessionCore>& session);
  /// The prepared file, if it is that of `path` and unchanged; waits if it is being prepared.
  std::shared_ptr<PreparedFile> take(const std::string& path);
  /// Waits for the present preparation. Later calls have no effect.
  void stop();

 private:
  struct Next {
    std::string path;
    std::shared_ptr<PreparedFile> file = nullptr;  ///< null: in preparation, or failed
    bool is_preparing = true;
  };
  /// Plan and first reads of the last file, which the next files repeat.
  struct Usual {
    ReadPlan requested;
    std::vector<ByteRange> first_reads;
  };

  void add_next(const Usual& usual);
  std::shared_ptr<PreparedFile> prepare(const std::string& path, const Usual& usual) const;
  void finish(const std::string& path, std::shared_ptr<PreparedFile> file);

  const Prepare prepare_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopped_ = false;
  std::vector<std::string> names_;             ///< oldest first
  std::vector<Next> next_;                     ///< nearest first
  std::shared_ptr<read::SessionCore> newest_;  ///< of the last name
  std::unique_ptr<write::BlockingExecutor> executor_;
};

}  // namespace forebay
