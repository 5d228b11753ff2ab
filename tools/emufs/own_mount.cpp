// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/own_mount.hpp"

#include <utility>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tools/emufs/mounts.hpp"

namespace forebay::emufs {

namespace {

constexpr const char* kConnections = "/sys/fs/fuse/connections";

/// The folder of all connections of FUSE. Containers often do not show it: then it is mounted
/// where no path leads to.
Descriptor connections() {
  const Descriptor context(::fsopen("fusectl", FSOPEN_CLOEXEC));
  if (context && ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) {
    if (Descriptor folder(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0)); folder) return folder;
  }
  return Descriptor(::open(kConnections, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// A file that ends this connection, and never another one, when it is written to.
Descriptor open_abort(dev_t device) {
  const Descriptor folder = connections();
  if (!folder) return {};
  const std::string path = std::to_string(minor(device)) + "/abort";
  return Descriptor(::openat(folder.get(), path.c_str(), O_WRONLY | O_CLOEXEC));
}

}  // namespace

OwnMount::OwnMount(const std::string& path, std::string backing) : backing_(std::move(backing)) {
  for (const MountEntry& entry : mounts_now()) {
    if (entry.path == path && entry.type == kMountType) device_ = entry.device;
  }
  if (device_ != 0) abort_ = open_abort(device_);
}

void OwnMount::end() const {
  // First of all: its mounts may be busy, or shown nowhere any more.
  const bool ended = abort_ && ::write(abort_.get(), "1", 1) == 1;
  const auto mounts = mounts_now();
  for (const MountEntry& entry : mounts) {
    const bool ours =
        entry.type == kMountType && entry.device == device_ && entry.source == backing_;
    if (!ours || is_covered(entry, mounts)) continue;
    if (!ended) ::umount2(entry.path.c_str(), MNT_FORCE);
    ::umount2(entry.path.c_str(), MNT_DETACH);
  }
}

}  // namespace forebay::emufs
