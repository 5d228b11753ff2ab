// SPDX-License-Identifier: Apache-2.0
// Private file systems of a test. They are mounted in a mount namespace of the test's process. So
// the kernel removes them, and the loop devices below them, when the process ends for any reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::faults {

/// Gives this process private mounts. Returns why that is impossible; empty on success.
std::string private_mounts_unavailable_reason();

/// Runs a program to its end. Returns empty on success, else its error output.
std::string command_error(const std::vector<std::string>& words);

/// A file system on a loop device, mounted during the lifetime of this object. Call
/// private_mounts_unavailable_reason() first.
class LoopDisk {
 public:
  struct Plan {
    std::vector<std::string> make = {"mkfs.ext4", "-q", "-F", "-m", "0"};
    std::uint64_t size_bytes = std::uint64_t{32} << 20U;
    std::string image_directory = {};  ///< empty: a new one
  };
  explicit LoopDisk(const Plan& plan);
  ~LoopDisk();
  LoopDisk(const LoopDisk&) = delete;
  LoopDisk& operator=(const LoopDisk&) = delete;

  /// Why it could not be created; empty if it is mounted.
  const std::string& unavailable_reason() const { return unavailable_reason_; }
  std::string operator/(const std::string& name) const { return mount_point_ + "/" + name; }
  const std::string& path() const { return mount_point_; }
  /// Bytes that can still be written.
  std::uint64_t free_bytes() const;

 private:
  const TemporaryDirectory directory_;
  const std::string mount_point_;
  std::string unavailable_reason_;
};

/// A tmpfs of limited size.
class SizedTmpfs {
 public:
  explicit SizedTmpfs(std::uint64_t size_bytes);
  ~SizedTmpfs();
  SizedTmpfs(const SizedTmpfs&) = delete;
  SizedTmpfs& operator=(const SizedTmpfs&) = delete;

  const std::string& path() const { return directory_.path(); }
  /// Bytes that can still be written.
  std::uint64_t free_bytes() const;

 private:
  const TemporaryDirectory directory_;
};

}  // namespace forebay::faults
