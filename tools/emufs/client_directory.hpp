// SPDX-License-Identifier: Apache-2.0
// The directory that was created for a client's mount. It is removed with the mount, also if emufs
// was killed. A directory that the user created with a number as its name stays.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include "tools/emufs/inodes.hpp"

namespace forebay::emufs {

class ClientDirectory {
 public:
  /// Creates the directory, with a mark if the file system supports trusted extended attributes.
  static Result<ClientDirectory> make(const std::string& path);
  /// Removes the directory, unless another one is at its path by now.
  void remove() const;

 private:
  ClientDirectory(std::string path, FileKey key) : path_(std::move(path)), key_(key) {}
  std::string path_;
  FileKey key_;
};

/// Removes a marked directory on which nothing is mounted any more.
void remove_client_directory(const std::string& path);

}  // namespace forebay::emufs
