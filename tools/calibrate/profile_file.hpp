// SPDX-License-Identifier: Apache-2.0
// The profile as a file that a calibration updates, and the path that its entry has.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <string>

#include "model/profile.hpp"

namespace forebay::calibrate {

/// The root of a directory's device: the topmost directory above it on the same device, where
/// streams look up entries. Fails with kNotFound if the directory does not exist.
Result<std::filesystem::path> device_root(const std::filesystem::path& directory);

/// Whether other hosts share the place: true unless it is in memory or on a disk of this host.
/// `directory` is in the place.
Result<bool> is_shared(const std::filesystem::path& directory);

/// A profile that exists or will be created. Two concurrent calibrations may lose one of their
/// entries, never the file.
class ProfileFile {
 public:
  explicit ProfileFile(std::string path) : path_(std::move(path)) {}

  /// Creates its directory if needed, and fails where put() would: the profile is wrong, or cannot
  /// be written. Call it before a long measurement.
  Status prepare() const;
  /// Applies model::update_mount() to the file, which is replaced atomically. Links to it are
  /// followed. The file is on stable storage afterwards.
  Status put(const model::ProfileMount& mount) const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace forebay::calibrate
