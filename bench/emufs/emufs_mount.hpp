// SPDX-License-Identifier: Apache-2.0
// A mount of emufs that exists as long as an object: measurements need a parallel file system, and
// none remains, however they end.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/machine.hpp"

namespace forebay::bench::emufs {

struct MountOptions {
  std::string machine;                          ///< a name or a path
  std::uint32_t clients = 1;                    ///< nodes of the machine
  std::vector<std::string> arguments;           ///< further options of `forebay-emufs mount`
  std::optional<unsigned> core = std::nullopt;  ///< core of all its threads; absent: any
  std::string backing_name = {};  ///< of the backing directory; empty: like the mount point
};

class EmufsMount {
 public:
  /// Creates two directories in `parent`: the backing directory and the mount point. kUnsupported
  /// with the reason if mounting is not possible.
  static Result<std::unique_ptr<EmufsMount>> make(const std::filesystem::path& parent,
                                                  const MountOptions& options);
  /// Unmounts, also while files are open.
  ~EmufsMount();
  EmufsMount(const EmufsMount&) = delete;
  EmufsMount& operator=(const EmufsMount&) = delete;

  /// With several clients, the directory of their mount points.
  const std::filesystem::path& path() const noexcept { return mount_point_; }
  /// The mount point of each client.
  std::vector<std::filesystem::path> mount_points() const;
  /// The backing directory; reading it takes no emulated time.
  const std::filesystem::path& backing() const noexcept { return backing_; }
  /// A new file: a copy of `source`, or without one `size_bytes` zeros. Takes no emulated time.
  Result<std::filesystem::path> create_file(const std::string& name,
                                            std::uint64_t size_bytes,
                                            const std::filesystem::path& source = {}) const;
  /// Drops the page caches of all clients, by unmounting and mounting again.
  Status drop_caches();

 private:
  EmufsMount(std::filesystem::path backing, std::filesystem::path mount_point, MountOptions options)
      : backing_(std::move(backing)),
        mount_point_(std::move(mount_point)),
        options_(std::move(options)) {}
  Status mount() const;
  Status unmount() const;

  std::filesystem::path backing_;
  std::filesystem::path mount_point_;
  MountOptions options_;
};

/// A machine of those that come with Forebay, or of the user. Throws its Error.
model::Machine machine_named(const std::string& name);
/// Writes a machine file to `directory`, and returns its path. Throws an Error.
std::string write_machine(const std::filesystem::path& directory, const model::Machine& machine);

/// Why mounting is not possible; empty if it is.
std::string mount_unavailable_reason();

}  // namespace forebay::bench::emufs
