// SPDX-License-Identifier: Apache-2.0
// An emulated storage from mounting to unmounting: makes the parts in their order, and takes them
// apart in the opposite one, whoever ends it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tools/emufs/client_folder.hpp"
#include "tools/emufs/file_system.hpp"
#include "tools/emufs/mounts.hpp"
#include "tools/emufs/own_mount.hpp"

namespace forebay::emufs {

class Emulation {
 public:
  struct Plan {
    Settings settings;
    Places places;
    std::string record;  ///< empty: nothing is recorded
  };

  /// Mounts all clients, which work when this returns.
  static Result<std::unique_ptr<Emulation>> start(Plan plan);
  /// Unmounts what is mounted still, and ends what somebody uses. Waits for no program.
  ~Emulation();
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;

  /// Where the clients are mounted.
  std::vector<std::string> mount_points() const;
  /// Readable when all mounts have ended.
  int ended() const noexcept { return ended_.get(); }
  /// Why read-ahead is not what the machine says; empty if it is.
  const std::string& remark() const noexcept { return remark_; }

 private:
  explicit Emulation(Plan plan) : plan_(std::move(plan)) {}
  Status prepare();
  Status mount_clients();
  Status mount_client(model::ClientId number);
  Status measure();
  void add_remark(const std::string& text);
  void client_ended();

  Plan plan_;
  Descriptor held_;  ///< the backing folder, so that nobody else serves it
  std::unique_ptr<FileSystem> file_system_;
  std::vector<OwnMount> mounts_;
  std::vector<ClientFolder> folders_made_;
  Descriptor ended_;
  std::atomic<std::size_t> mounted_{0};
  std::string remark_;
};

}  // namespace forebay::emufs
