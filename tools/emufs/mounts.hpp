// SPDX-License-Identifier: Apache-2.0
// Mounting and unmounting, and the checks before: current mounts, suitable paths, and processes
// that use a mount.
#pragma once

#include <forebay/error.hpp>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace forebay::emufs {

struct MountEntry {
  std::string path;
  std::string type;
  std::string source;
  dev_t device = 0;

  friend bool operator==(const MountEntry&, const MountEntry&) = default;
};

/// The mounts in the text of /proc/self/mountinfo, in its order.
std::vector<MountEntry> parse_mounts(std::string_view text);
/// The mounts of this process.
std::vector<MountEntry> current_mounts();

/// Whether another mount at the same path hides this one of the list: the path leads to the other
/// one.
bool is_hidden(const MountEntry& entry, const std::vector<MountEntry>& mounts);

/// Whether a mount of emufs is at `path` whose program has ended. Makes no request that waits for a
/// server of the storage, whatever faults are active.
bool is_dead_mount(const std::string& path);

/// Type of our mounts in that list.
inline constexpr std::string_view kMountType = "fuse.forebay-emufs";

struct MountPaths {
  std::string backing;      ///< absolute, without links
  std::string mount_point;  ///< likewise
};

/// Whether a backing directory and a mount point are suitable; the Error names the unsuitable one
/// and the cause.
Result<MountPaths> check_mount_paths(const std::string& backing, const std::string& mount_point);

/// Checks that `record` lies outside both paths. In the mount, its first byte would wait for
/// itself. In the backing directory, programs would see it. Returns its absolute path.
Result<std::string> check_record(const std::string& record, const MountPaths& paths);

/// Locks the backing directory while the descriptor is open. Two emufs with separate page caches
/// and locks would return stale data. Fails if another emufs has the lock. Empty if the directory's
/// file system does not support locks.
Result<Descriptor> lock_backing(const std::string& backing);

/// A descriptor of /dev/fuse, mounted at `path`.
Result<Descriptor> mount_at(const std::string& path, const std::string& backing);

/// Sets the kernel's readahead in the mount at `path`, whose program must reply. False if the
/// system does not support or permit it.
bool set_read_ahead(const std::string& path, std::uint64_t bytes);

enum class UnmountMode : std::uint8_t { kIfUnused, kLazy };

/// Unmounts our mount at `path`, or those of the clients in it, also if their program was killed.
/// Removes the directories that were created for clients, and waits for the program. Fails with
/// EBUSY and the names of processes that use a mount; then all mounts stay. Fails if the mounts
/// belong to several emufs.
Status unmount_all(const std::string& path, UnmountMode mode);

/// "4711 (bash), 4712 (vim)": processes that use files of a mount; at most five of them.
std::string users_of(const std::string& mount_path);

}  // namespace forebay::emufs
