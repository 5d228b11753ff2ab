// SPDX-License-Identifier: Apache-2.0
// A directory for the files of one run, which is removed at its end, after an error, and after
// Ctrl-C. A killed run cannot clean up: the next run does.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <optional>
#include <utility>

#include "base/descriptor.hpp"

namespace forebay::bench {

/// A lock on a directory, held while this object exists. It ends with its process, however that
/// ends.
class DirectoryLock {
 public:
  enum class WaitMode : std::uint8_t { kNoWait, kWait };

  /// No value if another process holds it, or if the file system has no locks.
  static std::optional<DirectoryLock> acquire(const std::filesystem::path& directory,
                                              WaitMode wait_mode);

 private:
  explicit DirectoryLock(Descriptor directory) noexcept : directory_(std::move(directory)) {}
  Descriptor directory_;
};

/// Exists from make() to its destruction, with its content and its mounts.
class WorkDirectory {
 public:
  /// Creates a directory with a unique name in `parent`, which must exist and be writable. Removes
  /// what killed runs of this user have left there.
  static Result<WorkDirectory> make(const std::filesystem::path& parent);
  ~WorkDirectory();
  WorkDirectory(WorkDirectory&& other) noexcept;
  WorkDirectory& operator=(WorkDirectory&&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  explicit WorkDirectory(std::filesystem::path path);
  std::filesystem::path path_;
  std::optional<DirectoryLock> lock_;  // marks the directory as in use
};

/// Removes from `parent` what killed runs of this user have left, and waits up to 3 seconds for
/// runs that are ending.
void remove_stale_directories(const std::filesystem::path& parent);

/// Makes SIGINT, SIGTERM and SIGHUP remove `directory` and end the process with 128 + signal. Call
/// it before any other thread is created: the signals are blocked in all threads and received by a
/// separate one, so removal is not restricted to async-signal-safe calls.
void remove_on_signals(const std::filesystem::path& directory);

}  // namespace forebay::bench
