// SPDX-License-Identifier: Apache-2.0
// Files of the backing directory to which the kernel has references. Each is held by an O_PATH
// descriptor, so that renames and removals in the backing directory cannot redirect a name. One
// table serves all clients: a file is one object, whatever number of mounts show it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/stat.h>
#include <tl/expected.hpp>

#include "base/descriptor.hpp"
#include "model/storage_model.hpp"

namespace forebay::emufs {

/// A value, or the errno for the reply to the kernel.
template <class T>
using ErrnoResult = tl::expected<T, int>;

inline tl::unexpected<int> errno_failure(int error_number) {
  return tl::unexpected<int>(error_number);
}

struct FileKey {
  dev_t device = 0;
  ino_t number = 0;

  friend bool operator==(const FileKey&, const FileKey&) = default;
};

/// The model's number of a file, the same in every mount.
model::FileId id_of(FileKey key) noexcept;

/// A file, directory or link of the backing directory. Thread-safe. The kernel may drop its last
/// reference as soon as the last reply about the inode is sent. Code that uses it after that must
/// own it.
class Inode : public std::enable_shared_from_this<Inode> {
 public:
  Inode(Descriptor descriptor, const struct stat& attributes, std::uint32_t clients)
      : descriptor_(std::move(descriptor)),
        key_{attributes.st_dev, attributes.st_ino},
        kind_(attributes.st_mode & S_IFMT),
        size_bytes_(static_cast<std::uint64_t>(attributes.st_size)),
        seen_versions_(clients),
        readers_(clients) {}

  int fd() const noexcept { return descriptor_.get(); }
  FileKey key() const noexcept { return key_; }
  model::FileId id() const noexcept { return id_of(key_); }
  mode_t kind() const noexcept { return kind_; }
  /// A path to the inode, for calls that take no O_PATH descriptor.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd()); }

  /// Selects the metadata server: model::name_hash() of the name by which it was last found.
  std::uint64_t name_hash() const noexcept { return name_hash_.load(std::memory_order_relaxed); }
  void set_name_hash(std::uint64_t hash) noexcept { name_hash_ = hash; }

  /// Used where locks keep caches coherent. Requests reach the model in the order in which they
  /// reach the bytes, so no page of old bytes is cached under a newer lock.
  std::shared_mutex& request_lock() noexcept { return request_lock_; }

  /// A client has changed its bytes.
  void record_change(model::ClientId client);
  /// A client opens it. True if no other client has changed it since this client last opened it.
  bool record_open(model::ClientId client);

  /// Sets the present length. False if it equals that of the last call.
  bool update_size(std::uint64_t bytes);
  /// Changes the number of a client's open files that can read, by `count`.
  void add_readers(model::ClientId client, int count);
  /// The other clients that have it open for reading.
  std::vector<model::ClientId> other_readers(model::ClientId client) const;

  /// Its layout, once set.
  std::optional<model::Layout> layout() const;
  void set_layout(const std::optional<model::Layout>& layout);

 private:
  friend class Inodes;
  Descriptor descriptor_;
  FileKey key_;
  mode_t kind_;
  std::atomic<std::uint64_t> name_hash_{0};
  std::uint64_t lookups_ = 0;  ///< references of all kernels; guarded by the table's lock
  std::shared_mutex request_lock_;
  mutable std::mutex mutex_;
  std::uint64_t version_ = 0;
  std::uint64_t size_bytes_ = 0;
  std::vector<std::uint64_t> seen_versions_;
  std::vector<int> readers_;  ///< by client
  std::optional<model::Layout> layout_;
};

/// A file that was looked up. It must be passed to the kernel, or forgotten.
struct LookupResult {
  Inode* inode = nullptr;
  struct stat attributes = {};
};

enum class InodeState : std::uint8_t { kReferenced, kReleased };

class Inodes {
 public:
  /// `root` is the backing directory, opened with O_PATH.
  Inodes(Descriptor root, const struct stat& attributes, std::uint32_t clients);

  Inode& root() noexcept { return *root_; }
  /// Looks up a name in a directory; adds one reference.
  ErrnoResult<LookupResult> find(const Inode& directory, const char* name);
  /// The file of an open descriptor, which the caller still owns, whatever its name refers to by
  /// now. Adds one reference.
  ErrnoResult<LookupResult> find_open(int file);
  /// Drops `times` references; whether others remain.
  InodeState forget(Inode& inode, std::uint64_t times);
  /// The file with one more reference, so that it stays until it is forgotten; null without
  /// references.
  Inode* acquire(model::FileId id);
  /// By the kernel's node number; 1 is the root.
  Inode& at(std::uint64_t node) noexcept {
    return node == 1 ? *root_ : *reinterpret_cast<Inode*>(node);
  }
  std::uint64_t node_of(const Inode& inode) const noexcept {
    return &inode == root_.get() ? 1 : reinterpret_cast<std::uint64_t>(&inode);
  }

 private:
  ErrnoResult<LookupResult> insert(Descriptor named);

  std::uint32_t clients_;
  std::shared_ptr<Inode> root_;
  std::mutex mutex_;
  std::unordered_map<model::FileId, std::shared_ptr<Inode>> by_id_;
};

}  // namespace forebay::emufs
