// SPDX-License-Identifier: Apache-2.0
// The directory of a measurement, on a storage with other data: it is removed with its content,
// also when a signal ends the process.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace forebay::calibrate {

/// Exists from make() to its destruction, with its content.
class ScratchDirectory {
 public:
  /// Creates a directory with a unique name in `parent`. From then on SIGINT, SIGTERM and SIGHUP
  /// remove it and end the process with 128 + signal; SIGKILL leaves it. Call it before any thread
  /// is created, and once: the signals are blocked in all threads, and a thread of the library
  /// receives them.
  static Result<std::unique_ptr<ScratchDirectory>> make(const std::filesystem::path& parent);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace forebay::calibrate
