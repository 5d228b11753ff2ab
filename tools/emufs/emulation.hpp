// SPDX-License-Identifier: Apache-2.0
// An emulated storage from mounting to unmounting: creates the parts in order, and destroys them in
// reverse order, however the mounts end.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tools/emufs/client_directory.hpp"
#include "tools/emufs/file_system.hpp"
#include "tools/emufs/mount_handle.hpp"
#include "tools/emufs/mounts.hpp"

namespace forebay::emufs {

class Emulation {
 public:
  struct Config {
    MountSettings settings;
    MountPaths paths;
    std::string record;  ///< empty: no recording
  };

  /// Mounts all clients. They work when this returns.
  static Result<std::unique_ptr<Emulation>> start(Config config);
  /// Unmounts remaining mounts, and aborts those in use. Waits for no program.
  ~Emulation();
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;

  /// Where the clients are mounted.
  std::vector<std::string> mount_points() const;
  /// Readable when all mounts have ended.
  int end_event() const noexcept { return end_event_.get(); }
  /// Warnings of the start, for example that readahead could not be set; empty if none.
  const std::string& warning() const noexcept { return warning_; }

 private:
  explicit Emulation(Config config) : config_(std::move(config)) {}
  Status prepare();
  Status mount_clients();
  Status mount_client(model::ClientId number);
  Status measure();
  void add_warning(const std::string& text);
  void client_ended();

  Config config_;
  Descriptor backing_lock_;  ///< lock of the backing directory: no other emufs serves it
  std::unique_ptr<EmulatedFileSystem> file_system_;
  std::vector<MountHandle> mounts_;
  std::vector<ClientDirectory> directories_made_;
  Descriptor end_event_;
  std::atomic<std::size_t> mounted_{0};
  std::string warning_;
};

}  // namespace forebay::emufs
