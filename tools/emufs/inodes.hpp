// SPDX-License-Identifier: Apache-2.0
// Which files of the backing folder the kernel knows, each held by a descriptor that only names it
// (O_PATH), so that renames and removals below us cannot make a name lead elsewhere. One table for
// all clients: a file is one object, however many mounts show it.
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

/// A value or the errno that the kernel is to be told.
template <class T>
using Outcome = tl::expected<T, int>;

inline tl::unexpected<int> fails(int error_number) { return tl::unexpected<int>(error_number); }

struct FileKey {
  dev_t device = 0;
  ino_t number = 0;

  friend bool operator==(const FileKey&, const FileKey&) = default;
};

/// The same in every mount: what the model calls a file.
model::FileId id_of(FileKey key) noexcept;

/// A file, folder or link of the backing folder. Any thread. The kernel may forget it as soon as
/// the last answer about it is sent: who goes on to use it then must own it.
class Inode : public std::enable_shared_from_this<Inode> {
 public:
  Inode(Descriptor descriptor, const struct stat& attributes, std::uint32_t clients)
      : descriptor_(std::move(descriptor)),
        key_{attributes.st_dev, attributes.st_ino},
        kind_(attributes.st_mode & S_IFMT),
        size_bytes_(static_cast<std::uint64_t>(attributes.st_size)),
        seen_(clients),
        readers_(clients) {}

  int fd() const noexcept { return descriptor_.get(); }
  FileKey key() const noexcept { return key_; }
  model::FileId id() const noexcept { return id_of(key_); }
  mode_t kind() const noexcept { return kind_; }
  /// A path that leads to it, for calls that take no O_PATH descriptor.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd()); }

  /// Which metadata server knows it: model::name_hash() of the name by which it was last found.
  std::uint64_t name_hash() const noexcept { return name_hash_.load(std::memory_order_relaxed); }
  void set_name_hash(std::uint64_t hash) noexcept { name_hash_ = hash; }

  /// Where locks keep caches alike: requests reach the model in the order in which they reach the
  /// bytes, so that no page of old bytes is kept under a newer lock.
  std::shared_mutex& order() noexcept { return order_; }

  /// A client has changed its bytes.
  void changed_by(model::ClientId client);
  /// A client opens it: true if nobody else has changed it since that client last opened it.
  bool opened_by(model::ClientId client);

  /// Its length now: false if that is what it was at the last call.
  bool has_new_size(std::uint64_t bytes);
  /// Opened for reading by a client, or closed again.
  void add_readers(model::ClientId client, int count);
  /// The other clients that have it open for reading.
  std::vector<model::ClientId> readers_besides(model::ClientId client) const;

  /// How it is cut; asked for once, then kept here.
  std::optional<model::Layout> layout() const;
  void set_layout(const std::optional<model::Layout>& layout);

 private:
  friend class Inodes;
  Descriptor descriptor_;
  FileKey key_;
  mode_t kind_;
  std::atomic<std::uint64_t> name_hash_{0};
  std::uint64_t lookups_ = 0;  ///< how often the kernels know it; the table's lock guards it
  std::shared_mutex order_;
  mutable std::mutex mutex_;
  std::uint64_t version_ = 0;
  std::uint64_t size_bytes_ = 0;
  std::vector<std::uint64_t> seen_;
  std::vector<int> readers_;  ///< by client
  std::optional<model::Layout> layout_;
};

/// A file that was looked up. Whoever does not hand it to the kernel forgets it.
struct Found {
  Inode* inode = nullptr;
  struct stat attributes = {};
};

enum class Known : std::uint8_t { kBySome, kByNobody };

class Inodes {
 public:
  /// `root` is the backing folder, opened with O_PATH.
  Inodes(Descriptor root, const struct stat& attributes, std::uint32_t clients);

  Inode& root() noexcept { return *root_; }
  /// Looks up a name in a folder; counts once.
  Outcome<Found> find(const Inode& folder, const char* name);
  /// The file of an open descriptor, which stays the caller's, whatever its name leads to by now;
  /// counts once.
  Outcome<Found> adopt(int file);
  /// Who knows the file then.
  Known forget(Inode& inode, std::uint64_t times);
  /// The file, counted once, so that it stays until it is forgotten; null if nobody knows it.
  Inode* hold(model::FileId id);
  /// Of the kernel's node numbers; 1 is the root.
  Inode& at(std::uint64_t node) noexcept {
    return node == 1 ? *root_ : *reinterpret_cast<Inode*>(node);
  }
  std::uint64_t node_of(const Inode& inode) const noexcept {
    return &inode == root_.get() ? 1 : reinterpret_cast<std::uint64_t>(&inode);
  }

 private:
  Outcome<Found> take(Descriptor named);

  std::uint32_t clients_;
  std::shared_ptr<Inode> root_;
  std::mutex mutex_;
  std::unordered_map<model::FileId, std::shared_ptr<Inode>> by_id_;
};

}  // namespace forebay::emufs
