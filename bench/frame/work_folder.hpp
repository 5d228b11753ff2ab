// SPDX-License-Identifier: Apache-2.0
// A folder for the files of one run, which leaves nothing behind: not at the normal end, not after
// an error, not when the user presses Ctrl-C.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>

namespace forebay::bench {

/// Exists from make() to its destruction, with everything in it.
class WorkFolder {
 public:
  /// Makes a folder with a name nobody else has in `parent`, which must exist and be writable.
  static Result<WorkFolder> make(const std::filesystem::path& parent);
  ~WorkFolder();
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  explicit WorkFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// Makes SIGINT, SIGTERM and SIGHUP remove `folder` and end the process with 128 + signal. To be
/// called before any other thread is made: the signals are blocked in all threads and taken by one
/// of our own, so that removing files needs no care for what a signal handler may do.
void remove_on_signals(const std::filesystem::path& folder);

}  // namespace forebay::bench
