// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/client_directory.hpp"

#include <cerrno>

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace forebay::emufs {

namespace {

/// Only root sees it, and copies of directories do not include it.
constexpr const char* kClientAttribute = "trusted.emufs.client";

Error mount_point_error(const std::string& path, int error_number) {
  return system_error({.operation = "create the mount point", .path = path}, error_number);
}

}  // namespace

Result<ClientDirectory> ClientDirectory::make(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) {
    return failure(mount_point_error(path, errno));
  }
  // Without the mark the directory stays after a kill, which is harmless.
  static_cast<void>(::lsetxattr(path.c_str(), kClientAttribute, "", 0, 0) == 0);
  struct stat made{};
  if (::lstat(path.c_str(), &made) != 0) return failure(mount_point_error(path, errno));
  return ClientDirectory(path, {made.st_dev, made.st_ino});
}

void ClientDirectory::remove() const {
  struct stat found{};
  if (::lstat(path_.c_str(), &found) != 0) return;
  if (FileKey{found.st_dev, found.st_ino} == key_) ::rmdir(path_.c_str());
}

void remove_client_directory(const std::string& path) {
  if (::lgetxattr(path.c_str(), kClientAttribute, nullptr, 0) >= 0) ::rmdir(path.c_str());
}

}  // namespace forebay::emufs
