// SPDX-License-Identifier: Apache-2.0
// File systems of a test's own: they are mounted where no other process sees them, so the kernel
// takes them away, and the loop devices below them, when the test's process ends, however it does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::faults {

/// Gives this process mounts of its own. Why that cannot be had here; empty if it has them now.
std::string reason_against_own_mounts();

/// Runs a program to its end; empty, or what it complained of.
std::string complaint_of(const std::vector<std::string>& words);

/// A file system on a loop device, for as long as it lives. Call reason_against_own_mounts() first.
class LoopDisk {
 public:
  struct Plan {
    std::vector<std::string> make = {"mkfs.ext4", "-q", "-F", "-m", "0"};
    std::uint64_t size_bytes = std::uint64_t{32} << 20U;
    std::string image_folder = {};  ///< empty: one of its own
  };
  explicit LoopDisk(const Plan& plan);
  ~LoopDisk();
  LoopDisk(const LoopDisk&) = delete;
  LoopDisk& operator=(const LoopDisk&) = delete;

  /// Why it could not be made; empty if it is there.
  const std::string& reason_against() const { return reason_against_; }
  std::string operator/(const std::string& name) const { return point_ + "/" + name; }
  const std::string& path() const { return point_; }
  /// What can still be written to it.
  std::uint64_t free_bytes() const;

 private:
  const TemporaryFolder folder_;
  const std::string point_;
  std::string reason_against_;
};

/// Memory as a file system, with an end.
class SmallMemory {
 public:
  explicit SmallMemory(std::uint64_t size_bytes);
  ~SmallMemory();
  SmallMemory(const SmallMemory&) = delete;
  SmallMemory& operator=(const SmallMemory&) = delete;

  const std::string& path() const { return folder_.path(); }
  /// What can still be written to it.
  std::uint64_t free_bytes() const;

 private:
  const TemporaryFolder folder_;
};

}  // namespace forebay::faults
