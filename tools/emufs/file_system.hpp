// SPDX-License-Identifier: Apache-2.0
// Everything that the clients of one emulated storage share, and one client: a mount with threads
// that take its requests. Operations find both through the request they serve.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tools/emufs/allowances.hpp"
#include "tools/emufs/buffers.hpp"
#include "tools/emufs/errands.hpp"
#include "tools/emufs/fault_commands.hpp"
#include "tools/emufs/faults.hpp"
#include "tools/emufs/inodes.hpp"
#include "tools/emufs/layouts.hpp"
#include "tools/emufs/lookup_times.hpp"
#include "tools/emufs/program_locks.hpp"
#include "tools/emufs/published.hpp"
#include "tools/emufs/recorder.hpp"
#include "tools/emufs/timekeeper.hpp"
#include "tools/emufs/wire.hpp"

namespace forebay::emufs {

enum class Syncing : std::uint8_t { kKept, kNone };

/// What processors do that have nothing to do while requests wait.
enum class Idling : std::uint8_t { kHalt, kStayAwake };

/// What a mount is asked for, checked and resolved.
struct Settings {
  model::Machine machine;  ///< its client.count is that of the mounts
  std::string backing;     ///< absolute
  Delays delays = Delays::kKept;
  Syncing syncing = Syncing::kKept;
  Idling idling = Idling::kHalt;
  unsigned threads = 8;
  std::string told = {};  ///< the machine file that programs see: what the mount behaves like
};

class Client;
class Probe;

/// The shared part. Made before the clients and ended after them.
struct FileSystem {
  FileSystem(Settings with, Descriptor root, const struct stat& attributes)
      : settings(std::move(with)),
        inodes(std::move(root), attributes, settings.machine.client.count),
        layouts(settings.machine) {}

  Settings settings;
  Inodes inodes;
  Layouts layouts;
  Faults faults;
  ServerFaults server_faults;
  Buffers buffers;
  Published<Allowances> measured;  ///< once the mounts work, and only where there are delays
  LookupTimes lookups;
  ProgramLocks program_locks;    ///< between several clients
  Published<Recorder> recorder;  ///< once the mounts work, and only if it was asked for
  std::atomic<Ticket> last_ticket{0};
  std::atomic<Probe*> probe{nullptr};  ///< while it measures
  std::vector<std::unique_ptr<Client>> clients;
  /// Destroyed before all others: it sends what waits.
  std::unique_ptr<Timekeeper> time;

  Allowances allowances() const { return measured.get() ? *measured.get() : Allowances{}; }
  bool has_several_clients() const { return settings.machine.client.count > 1; }
  /// Whether locks keep page caches of several clients alike. Where the machine has none, kernels
  /// still keep pages for mappings and sendfile.
  bool has_shared_caches() const { return has_several_clients() && has_locks(); }
  /// Whether clients see each other's writes only when they ask for a file anew, as with NFS.
  bool sees_others_late() const {
    return has_several_clients() && !has_locks() && settings.machine.client.page_cache;
  }
  bool has_locks() const { return settings.machine.locks.unit != model::LockUnit::kNone; }
};

/// One mount.
class Client {
 public:
  /// Takes over a descriptor of /dev/fuse that is mounted at `mount_point` already.
  Client(FileSystem& file_system,
         model::ClientId number,
         Descriptor device,
         std::string mount_point);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Starts the threads; `ended` is called once when the last of them ends.
  Status start(std::function<void()> ended);
  /// Waits until its threads have ended, as they do when the mount has; answers may still be sent.
  void join();
  /// The kernel's page cache of this mount forgets bytes; waits for pages that are being read.
  void drop_pages(Inode& inode, ByteRange range);
  /// The kernel of this mount has a file at least as long as it is now. May wait for the last page.
  void tell_size(Inode& inode);
  /// The kernel of this mount forgets where a name leads, soon. Does not wait.
  void forget_name(const Inode& folder, const std::string& name);

  FileSystem& file_system() noexcept { return file_system_; }
  model::ClientId number() const noexcept { return number_; }
  const std::string& mount_point() const noexcept { return mount_point_; }

 private:
  void take_requests();

  FileSystem& file_system_;
  model::ClientId number_;
  Descriptor device_;
  std::string mount_point_;
  fuse_session* session_ = nullptr;
  std::atomic<unsigned> running_{0};
  std::function<void()> ended_;
  std::vector<std::thread> threads_;
  /// Where there are other clients. Forgetting a name waits for whoever uses its folder, which
  /// dropping pages must not.
  std::unique_ptr<Errands> errands_;
};

/// When this thread took the request that it serves.
model::Time request_taken() noexcept;

}  // namespace forebay::emufs
