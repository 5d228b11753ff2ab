// SPDX-License-Identifier: Apache-2.0
// Writes a recording while changes are made. A change and its record are one critical section:
// while recording, changes are serialized, in the order of the file.
#pragma once

#include <forebay/error.hpp>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/descriptor.hpp"
#include "tools/emufs/record.hpp"

namespace forebay::emufs {

/// Thread-safe.
class Recorder {
 public:
  /// Creates `path`, which must not exist, and records the content of the directory `backing`.
  static Result<std::unique_ptr<Recorder>> create(const std::string& path,
                                                  const std::string& backing);

  const std::string& path() const noexcept { return path_; }
  std::uint64_t records() const;
  /// The errno of the failed write that ended the recording, 0 if none failed.
  int write_error() const;

 private:
  friend class Recording;
  Recorder(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  Status record_existing(const std::string& path);
  void append(const Record& record);
  void mark_incomplete(int error_number);

  std::string path_;
  Descriptor file_;
  mutable std::mutex mutex_;
  std::uint64_t records_ = 0;
  int write_error_ = 0;
};

/// Critical section in which one change is made. Does nothing without a recorder.
class Recording {
 public:
  explicit Recording(Recorder* recorder) : recorder_(recorder) {
    if (recorder_ != nullptr) lock_ = std::unique_lock(recorder_->mutex_);
  }
  bool is_enabled() const noexcept { return recorder_ != nullptr; }
  /// The change was made.
  void append(const Record& record) {
    if (recorder_ != nullptr) recorder_->append(record);
  }
  /// A change was made that has no record.
  void mark_incomplete(int error_number) {
    if (recorder_ != nullptr) recorder_->mark_incomplete(error_number);
  }
  /// 0, or EIO if changes are missing: a sync must not report success then.
  int failure() const { return recorder_ != nullptr && recorder_->write_error_ != 0 ? EIO : 0; }

 private:
  Recorder* recorder_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace forebay::emufs
