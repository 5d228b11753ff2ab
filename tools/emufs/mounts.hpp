// SPDX-License-Identifier: Apache-2.0
// Mounting and unmounting, and what stands in the way of it: which mounts there are, whether a
// place will do, and which processes keep one busy.
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
/// Those of this process.
std::vector<MountEntry> mounts_now();

/// Whether another mount at the same path hides this one of the list: the path leads to that.
bool is_covered(const MountEntry& entry, const std::vector<MountEntry>& mounts);

/// Whether a mount of ours is at `path` whose program is gone. Asks what waits for no server of the
/// storage, whatever faults are in force.
bool is_dead_mount(const std::string& path);

/// What our mounts are called in that list.
inline constexpr std::string_view kMountType = "fuse.forebay-emufs";

struct Places {
  std::string backing;      ///< absolute, without links
  std::string mount_point;  ///< likewise
};

/// Whether a backing folder and a mount point will do; the Error says which does not, and why.
Result<Places> check_places(const std::string& backing, const std::string& mount_point);

/// Whether `record` lies elsewhere: in the mount, its first byte would wait for itself, and in the
/// backing folder programs would see it. Gives its path as an absolute one.
Result<std::string> check_record(const std::string& record, const Places& places);

/// Holds the backing folder as long as it is kept: two emufs, each with page caches and locks of
/// its own, would let programs read what is no more. Fails if another one has it. Empty where the
/// file system of the folder knows no locks.
Result<Descriptor> hold_backing(const std::string& backing);

/// A descriptor of /dev/fuse, mounted at `path`.
Result<Descriptor> mount_at(const std::string& path, const std::string& backing);

/// How far the kernel reads ahead in the mount at `path`, whose program answers. False if the
/// system does not say or let.
bool set_read_ahead(const std::string& path, std::uint64_t bytes);

enum class Unmounting : std::uint8_t { kWhenFree, kLazy };

/// Ends our mount at `path` or those of the clients in it, also where their program was killed,
/// removes the folders that were made for clients, and waits for the program. Fails with EBUSY and
/// the names of who uses one; then all are left. Refuses where the mounts are of several emufs.
Status unmount_all(const std::string& path, Unmounting how);

/// "4711 (bash), 4712 (vim)": processes that use files of a mount; at most five of them.
std::string users_of(const std::string& mount_path);

}  // namespace forebay::emufs
