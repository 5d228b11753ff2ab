// SPDX-License-Identifier: Apache-2.0
// Fault commands: parses what `forebay emufs fault` writes to the mount's root, and applies it.
// Server conditions are stored here, because the model cannot list them.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "model/storage_model.hpp"

namespace forebay::emufs {

struct EmulatedFileSystem;

struct ServerFault {
  model::ServerId server;
  model::ServerCondition condition;
  std::string state;  ///< "works", "stall" or "drop", as in the command
};

/// Thread-safe.
class ServerFaults {
 public:
  void set(const ServerFault& fault);
  std::vector<ServerFault> all() const;
  /// Removes all faults and returns those that existed.
  std::vector<ServerFault> take_all();

 private:
  mutable std::mutex mutex_;
  std::vector<ServerFault> faults_;
};

/// Applies {"kind": "eio", "path", "offset", "size", "on"}, {"kind": "enospc", "after"}, {"kind":
/// "edquot", "uid", "limit"}, {"kind": "server", "number", "metadata", "state", "slowness"} or
/// {"kind": "clear"}. Returns the errno, or 0. A path is resolved below the mount's root with the
/// file system rights of this thread.
int apply_fault_command(EmulatedFileSystem& file_system, std::string_view text);

}  // namespace forebay::emufs
