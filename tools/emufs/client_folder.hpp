// SPDX-License-Identifier: Apache-2.0
// The folder that was made for a client's mount. It goes with the mount, also when its program was
// killed; a folder that the user made, with a number for a name, stays.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include "tools/emufs/inodes.hpp"

namespace forebay::emufs {

class ClientFolder {
 public:
  /// Makes it, with a mark where the file system takes one.
  static Result<ClientFolder> make(const std::string& path);
  /// Removes it, unless there is another one by now.
  void remove() const;

 private:
  ClientFolder(std::string path, FileKey key) : path_(std::move(path)), key_(key) {}
  std::string path_;
  FileKey key_;
};

/// Removes a folder with such a mark, which nothing is mounted on any more.
void remove_client_folder(const std::string& path);

}  // namespace forebay::emufs
