// SPDX-License-Identifier: Apache-2.0
// Writes a recording while changes are made. A change and its record are one step: as long as
// somebody records, changes come one after another, in the order of the file.
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

/// Any thread.
class Recorder {
 public:
  /// Makes `path`, which must not be there, and notes what lies in the folder `backing`.
  static Result<std::unique_ptr<Recorder>> create(const std::string& path,
                                                  const std::string& backing);

  const std::string& path() const noexcept { return path_; }
  std::uint64_t records() const;
  /// The errno with which the recording broke off, 0 if it did not.
  int broken() const;

 private:
  friend class Recording;
  Recorder(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  Status note_folder(const std::string& path);
  void append(const Record& record);
  void break_off(int error_number);

  std::string path_;
  Descriptor file_;
  mutable std::mutex mutex_;
  std::uint64_t records_ = 0;
  int broken_ = 0;
};

/// The step in which one change is made. Does nothing where nobody records.
class Recording {
 public:
  explicit Recording(Recorder* recorder) : recorder_(recorder) {
    if (recorder_ != nullptr) lock_ = std::unique_lock(recorder_->mutex_);
  }
  bool is_on() const noexcept { return recorder_ != nullptr; }
  /// The change was made.
  void keep(const Record& record) {
    if (recorder_ != nullptr) recorder_->append(record);
  }
  /// A change was made of which there is no record.
  void miss(int error_number) {
    if (recorder_ != nullptr) recorder_->break_off(error_number);
  }
  /// 0, or EIO if changes are missing: nobody may be told then that theirs are safe.
  int failure() const { return recorder_ != nullptr && recorder_->broken_ != 0 ? EIO : 0; }

 private:
  Recorder* recorder_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace forebay::emufs
