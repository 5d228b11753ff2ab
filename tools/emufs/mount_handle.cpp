// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/mount_handle.hpp"

#include <utility>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tools/emufs/mounts.hpp"

namespace forebay::emufs {

namespace {

constexpr const char* kConnections = "/sys/fs/fuse/connections";

/// The directory of all FUSE connections. Containers often do not show it, so it is mounted without
/// a path.
Descriptor connections() {
  const Descriptor context(::fsopen("fusectl", FSOPEN_CLOEXEC));
  if (context && ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) {
    if (Descriptor directory(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0)); directory)
      return directory;
  }
  return Descriptor(::open(kConnections, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// A file that aborts this connection, and never another one, when written.
Descriptor open_abort(dev_t device) {
  const Descriptor directory = connections();
  if (!directory) return {};
  const std::string path = std::to_string(minor(device)) + "/abort";
  return Descriptor(::openat(directory.get(), path.c_str(), O_WRONLY | O_CLOEXEC));
}

}  // namespace

MountHandle::MountHandle(const std::string& path, std::string backing)
    : backing_(std::move(backing)) {
  for (const MountEntry& entry : current_mounts()) {
    if (entry.path == path && entry.type == kMountType) device_ = entry.device;
  }
  if (device_ != 0) abort_ = open_abort(device_);
}

void MountHandle::abort() const {
  // First, because its mounts may be busy, or have no path.
  const bool ended = abort_ && ::write(abort_.get(), "1", 1) == 1;
  const auto mounts = current_mounts();
  for (const MountEntry& entry : mounts) {
    const bool ours =
        entry.type == kMountType && entry.device == device_ && entry.source == backing_;
    if (!ours || is_hidden(entry, mounts)) continue;
    if (!ended) ::umount2(entry.path.c_str(), MNT_FORCE);
    ::umount2(entry.path.c_str(), MNT_DETACH);
  }
}

}  // namespace forebay::emufs
