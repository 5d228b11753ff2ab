// SPDX-License-Identifier: Apache-2.0
// A mount of emufs for as long as an object lives: measurements need a parallel file system, and
// leave none behind, however they end.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace forebay::bench::emufs {

struct MountOptions {
  std::string machine;                          ///< a name or a path
  std::vector<std::string> words;               ///< further options of `forebay-emufs mount`
  std::optional<unsigned> core = std::nullopt;  ///< where all of it runs; absent: anywhere
};

class Mounted {
 public:
  /// Makes two folders in `parent`: the backing one and the mount point. kUnsupported with the
  /// reason where no file system can be mounted.
  static Result<std::unique_ptr<Mounted>> make(const std::filesystem::path& parent,
                                               const MountOptions& options);
  /// Unmounts, also where files are still open.
  ~Mounted();
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;

  const std::filesystem::path& path() const noexcept { return mount_point_; }
  /// What is kept; reading here takes no emulated time.
  const std::filesystem::path& backing() const noexcept { return backing_; }
  /// All clients forget what they have cached of a file: it is mounted anew.
  Status drop_caches();

 private:
  Mounted(std::filesystem::path backing, std::filesystem::path mount_point, MountOptions options)
      : backing_(std::move(backing)),
        mount_point_(std::move(mount_point)),
        options_(std::move(options)) {}
  Status mount() const;
  Status unmount() const;

  std::filesystem::path backing_;
  std::filesystem::path mount_point_;
  MountOptions options_;
};

/// Why nothing can be mounted here; empty if it can.
std::string why_no_mounts();

}  // namespace forebay::bench::emufs
