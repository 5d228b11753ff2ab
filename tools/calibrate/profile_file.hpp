// SPDX-License-Identifier: Apache-2.0
// The profile as a file that a calibration changes, and the place that its entry names.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <string>

#include "model/profile.hpp"

namespace forebay::calibrate {

/// Where the device of a folder begins: the topmost folder above it on the same device, which is
/// where streams look up to. Fails with kNotFound if there is no such folder.
Result<std::filesystem::path> place_of(const std::filesystem::path& folder);

/// Whether other hosts see the same place: what is neither in memory nor on a disk of this host.
/// `folder` is one of it.
Result<bool> is_shared(const std::filesystem::path& folder);

/// A profile that is there, or is to be. Two calibrations that write at the same moment may lose
/// one of their entries, never the file.
class ProfileFile {
 public:
  explicit ProfileFile(std::string path) : path_(std::move(path)) {}

  /// Makes its folder if there is none, and fails where put() would: the profile is wrong, or
  /// nothing can be written there. To be called before a long measurement.
  Status prepare() const;
  /// As model::with_mount() for the file: a new one takes its place in one step, or none. Links to
  /// it are followed. It is on stable storage afterwards.
  Status put(const model::ProfileMount& mount) const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace forebay::calibrate
