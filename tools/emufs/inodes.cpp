// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/inodes.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/assert.hpp"

namespace forebay::emufs {

model::FileId id_of(FileKey key) noexcept {
  // A backing directory may hold mounts of several devices, whose inode numbers must not collide.
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  return key.number ^ (static_cast<std::uint64_t>(key.device) * kOdd);
}

void Inode::record_change(model::ClientId client) {
  const std::lock_guard lock(mutex_);
  const bool was_current = seen_versions_[client] == version_;
  ++version_;
  if (was_current) seen_versions_[client] = version_;
}

bool Inode::record_open(model::ClientId client) {
  const std::lock_guard lock(mutex_);
  const bool current = seen_versions_[client] == version_;
  seen_versions_[client] = version_;
  return current;
}

bool Inode::update_size(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return std::exchange(size_bytes_, bytes) != bytes;
}

void Inode::add_readers(model::ClientId client, int count) {
  const std::lock_guard lock(mutex_);
  readers_[client] += count;
}

std::vector<model::ClientId> Inode::other_readers(model::ClientId client) const {
  std::vector<model::ClientId> others;
  const std::lock_guard lock(mutex_);
  for (model::ClientId other = 0; other < readers_.size(); ++other) {
    if (other != client && readers_[other] > 0) others.push_back(other);
  }
  return others;
}

std::optional<model::Layout> Inode::layout() const {
  const std::lock_guard lock(mutex_);
  return layout_;
}

void Inode::set_layout(const std::optional<model::Layout>& layout) {
  const std::lock_guard lock(mutex_);
  layout_ = layout;
}

Inodes::Inodes(Descriptor root, const struct stat& attributes, std::uint32_t clients)
    : clients_(clients), root_(std::make_shared<Inode>(std::move(root), attributes, clients)) {}

ErrnoResult<LookupResult> Inodes::find(const Inode& directory, const char* name) {
  return insert(Descriptor(::openat(directory.fd(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC)));
}

ErrnoResult<LookupResult> Inodes::find_open(int file) {
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  return insert(Descriptor(::open(path.c_str(), O_PATH | O_CLOEXEC)));
}

/// `named` may be empty, with errno.
ErrnoResult<LookupResult> Inodes::insert(Descriptor named) {
  if (!named) return errno_failure(errno);
  LookupResult found;
  if (::fstatat(named.get(), "", &found.attributes, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) {
    return errno_failure(errno);
  }
  const FileKey key{found.attributes.st_dev, found.attributes.st_ino};
  if (key == root_->key()) return errno_failure(ELOOP);
  const std::lock_guard lock(mutex_);
  auto& inode = by_id_[id_of(key)];
  if (!inode) inode = std::make_shared<Inode>(std::move(named), found.attributes, clients_);
  ++inode->lookups_;
  found.inode = inode.get();
  return found;
}

Inode* Inodes::acquire(model::FileId id) {
  const std::lock_guard lock(mutex_);
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return nullptr;
  ++it->second->lookups_;
  return it->second.get();
}

InodeState Inodes::forget(Inode& inode, std::uint64_t times) {
  if (&inode == root_.get()) return InodeState::kReferenced;
  std::shared_ptr<Inode> gone;  // closed after the lock is released
  const std::lock_guard lock(mutex_);
  FOREBAY_ASSERT(inode.lookups_ >= times);
  inode.lookups_ -= times;
  if (inode.lookups_ > 0) return InodeState::kReferenced;
  const auto it = by_id_.find(inode.id());
  gone = std::move(it->second);
  by_id_.erase(it);
  return InodeState::kReleased;
}

}  // namespace forebay::emufs
