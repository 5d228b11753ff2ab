// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/client_folder.hpp"

#include <cerrno>

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace forebay::emufs {

namespace {

/// Only root sees it, and copies of folders do not carry it.
constexpr const char* kMark = "trusted.emufs.client";

Error cannot_make(const std::string& path, int error_number) {
  return system_error({.operation = "make the mount point", .path = path}, error_number);
}

}  // namespace

Result<ClientFolder> ClientFolder::make(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) {
    return failure(cannot_make(path, errno));
  }
  // Without the mark it stays after a kill, which does no harm.
  static_cast<void>(::lsetxattr(path.c_str(), kMark, "", 0, 0) == 0);
  struct stat made{};
  if (::lstat(path.c_str(), &made) != 0) return failure(cannot_make(path, errno));
  return ClientFolder(path, {made.st_dev, made.st_ino});
}

void ClientFolder::remove() const {
  struct stat found{};
  if (::lstat(path_.c_str(), &found) != 0) return;
  if (FileKey{found.st_dev, found.st_ino} == key_) ::rmdir(path_.c_str());
}

void remove_client_folder(const std::string& path) {
  if (::lgetxattr(path.c_str(), kMark, nullptr, 0) >= 0) ::rmdir(path.c_str());
}

}  // namespace forebay::emufs
