// SPDX-License-Identifier: Apache-2.0
// The state that all clients of one emulated storage share, and one client: a mount with threads
// that serve its requests. Operations find both through the request that they serve.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tools/emufs/fault_commands.hpp"
#include "tools/emufs/faults.hpp"
#include "tools/emufs/file_locks.hpp"
#include "tools/emufs/fuse_io.hpp"
#include "tools/emufs/fuse_overheads.hpp"
#include "tools/emufs/inodes.hpp"
#include "tools/emufs/layouts.hpp"
#include "tools/emufs/lookup_times.hpp"
#include "tools/emufs/once_value.hpp"
#include "tools/emufs/recorder.hpp"
#include "tools/emufs/reply_buffers.hpp"
#include "tools/emufs/reply_scheduler.hpp"
#include "tools/emufs/task_queue.hpp"

namespace forebay::emufs {

enum class SyncMode : std::uint8_t { kEnabled, kDisabled };

/// What idle processors do while requests wait.
enum class IdlePolicy : std::uint8_t { kHalt, kStayActive };

/// Options of a mount, checked and resolved.
struct MountSettings {
  model::Machine machine;  ///< its client.count is the number of mounts
  std::string backing;     ///< absolute
  DelayMode delay_mode = DelayMode::kEnabled;
  SyncMode sync_mode = SyncMode::kEnabled;
  IdlePolicy idle_policy = IdlePolicy::kHalt;
  unsigned threads = 8;
  std::uint64_t attribute_cache_s = 0;  ///< for which a single client keeps attributes of a file
  /// The machine file that programs read: what the mount behaves like.
  std::string machine_text = {};
};

class Client;
class OverheadProbe;

/// The shared part. Created before the clients and destroyed after them.
struct EmulatedFileSystem {
  EmulatedFileSystem(MountSettings with, Descriptor root, const struct stat& attributes)
      : settings(std::move(with)),
        inodes(std::move(root), attributes, settings.machine.client.count),
        layouts(settings.machine) {}

  MountSettings settings;
  Inodes inodes;
  Layouts layouts;
  Faults faults;
  ServerFaults server_faults;
  ReplyBuffers buffers;
  /// Set when the mounts work, and only where there are delays.
  OnceValue<FuseOverheads> measured_overheads;
  LookupTimes lookups;
  FileLockTable file_locks;      ///< between several clients
  OnceValue<Recorder> recorder;  ///< set when the mounts work, and only if requested
  std::atomic<Ticket> last_ticket{0};
  std::atomic<OverheadProbe*> probe{nullptr};  ///< while it measures
  std::vector<std::unique_ptr<Client>> clients;
  /// Destroyed first: it sends waiting replies.
  std::unique_ptr<ReplyScheduler> scheduler;

  FuseOverheads fuse_overheads() const {
    return measured_overheads.get() ? *measured_overheads.get() : FuseOverheads{};
  }
  bool has_several_clients() const { return settings.machine.client.count > 1; }
  /// Whether locks keep page caches of several clients coherent. If the machine has no page cache,
  /// kernels still cache pages for mappings and sendfile.
  bool has_coherent_caches() const { return has_several_clients() && has_locks(); }
  /// Whether clients see each other's writes only when they open a file again, as with NFS.
  bool is_close_to_open() const {
    return has_several_clients() && !has_locks() && settings.machine.client.page_cache;
  }
  bool has_locks() const { return settings.machine.locks.unit != model::LockUnit::kNone; }
};

/// One mount.
class Client {
 public:
  /// Takes ownership of a descriptor of /dev/fuse that is mounted at `mount_point` already.
  Client(EmulatedFileSystem& file_system,
         model::ClientId number,
         Descriptor device,
         std::string mount_point);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Starts the threads. `ended` is called once, when the last of them ends.
  Status start(std::function<void()> ended);
  /// Waits until its threads have ended, which they do when the mount has ended. Replies may still
  /// be sent.
  void join();
  /// Invalidates bytes in the kernel's page cache of this mount. Waits for pages that are being
  /// read.
  void invalidate_pages(Inode& inode, ByteRange range);
  /// The kernel of this mount gets a size of the file that is at least the present one. May wait
  /// for the last page.
  void notify_size(Inode& inode);
  /// The kernel of this mount invalidates a name soon. Does not wait.
  void invalidate_name(const Inode& directory, const std::string& name);

  EmulatedFileSystem& file_system() noexcept { return file_system_; }
  model::ClientId number() const noexcept { return number_; }
  const std::string& mount_point() const noexcept { return mount_point_; }

 private:
  void serve_requests();

  EmulatedFileSystem& file_system_;
  model::ClientId number_;
  Descriptor device_;
  std::string mount_point_;
  fuse_session* session_ = nullptr;
  std::atomic<unsigned> running_threads_{0};
  std::function<void()> ended_;
  std::vector<std::thread> threads_;
  /// Only with several clients. Invalidating a name waits for operations on its directory; dropping
  /// pages must not wait for those.
  std::unique_ptr<TaskQueue> task_queue_;
};

/// When this thread received the request that it serves.
model::Time request_arrival() noexcept;

}  // namespace forebay::emufs
