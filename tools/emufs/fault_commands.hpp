// SPDX-License-Identifier: Apache-2.0
// Faults by command: what `forebay emufs fault` writes to the mount's root, understood and put in
// force. Conditions of servers are remembered here, as the model only obeys them.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "model/storage_model.hpp"

namespace forebay::emufs {

struct FileSystem;

struct ServerFault {
  model::ServerName server;
  model::ServerCondition condition;
  std::string state;  ///< "works", "stall", "drop", as in the command
};

/// Any thread.
class ServerFaults {
 public:
  void set(const ServerFault& fault);
  std::vector<ServerFault> all() const;
  /// Forgets all, and says which there were.
  std::vector<ServerFault> take_all();

 private:
  mutable std::mutex mutex_;
  std::vector<ServerFault> faults_;
};

/// {"kind": "eio", "path", "offset", "size", "on"}, {"kind": "enospc", "after"},
/// {"kind": "edquot", "uid", "limit"}, {"kind": "server", "number", "metadata", "state",
/// "slowness"} or {"kind": "clear"}. The errno, or 0. A path is looked up below the mount's root
/// with the rights that this thread has in file systems.
int command_fault(FileSystem& file_system, std::string_view text);

}  // namespace forebay::emufs
