// SPDX-License-Identifier: Apache-2.0
// The folder that is measured in, on a storage that is somebody's: nothing of it may stay, also
// when who started a measurement ends it half-way.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace forebay::calibrate {

/// Exists from make() to its destruction, with all that is made in it.
class OwnFolder {
 public:
  /// Makes a folder with a name nobody else has in `parent`. From then on SIGINT, SIGTERM and
  /// SIGHUP remove it and end the process with 128 + signal; SIGKILL leaves it. To be called before
  /// any thread is made, and once: the signals are blocked in all threads and taken by one of our
  /// own.
  static Result<std::unique_ptr<OwnFolder>> make(const std::filesystem::path& parent);
  ~OwnFolder();
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  explicit OwnFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace forebay::calibrate
