// SPDX-License-Identifier: Apache-2.0
// Maps the whole memory, whatever range is requested first. That costs only addresses, and later
// ranges are mapped already.
#include "write/peer_memory_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <sys/mman.h>

#include "shm/double_mapping.hpp"

namespace forebay::write {

/// The mapping of one memory of another process, while it is in use.
class PeerMemoryCache::Mapping {
 public:
  Mapping(const MemoryHandle& handle, std::byte* base) noexcept : handle_(handle), base_(base) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(base_, handle_.bytes); }

  static Result<std::shared_ptr<const Mapping>> make(const MemoryHandle& handle);

  const MemoryHandle& handle() const noexcept { return handle_; }
  std::byte* base() const noexcept { return base_; }

 private:
  const MemoryHandle handle_;
  std::byte* const base_;
};

Result<std::shared_ptr<const PeerMemoryCache::Mapping>> PeerMemoryCache::Mapping::make(
    const MemoryHandle& handle) {
  const auto opened = shm::open_memory_handle(handle);
  if (!opened) return failure(opened.error());
  const auto failed = [&handle] {
    return failure(system_error({.operation = "map memory of a process of this node",
                                 .cause = "for " + std::to_string(handle.bytes) +
                                          " bytes of process " + std::to_string(handle.process)},
                                errno));
  };
  std::byte* const base = shm::reserve_addresses(handle.bytes);
  if (base == nullptr) return failed();
  auto mapping = std::make_shared<const Mapping>(handle, base);
  if (::mmap(base, handle.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, opened->get(),
             0) == MAP_FAILED) {
    return failed();
  }
  return mapping;
}

Result<PeerBytes> PeerMemoryCache::map(const MemoryHandle& handle, const ByteRange& range) {
  if (!ByteRange{0, handle.bytes}.contains(range)) {
    return failure({.kind = ErrorClass::kOutOfRange,
                    .operation = "map memory of a process of this node",
                    .offset_bytes = range.offset,
                    .cause = std::to_string(range.size) + " bytes from here, of memory that has " +
                             std::to_string(handle.bytes)});
  }
  if (range.empty()) return PeerBytes{};
  auto mapping = find(handle);
  if (!mapping) {
    auto made = Mapping::make(handle);
    if (!made) return failure(made.error());
    mapping = insert(std::move(*made));
  }
  return PeerBytes{.bytes = {mapping->base() + range.offset, range.size}, .mapping = mapping};
}

std::shared_ptr<const PeerMemoryCache::Mapping> PeerMemoryCache::find(const MemoryHandle& handle) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(cached_.begin(), cached_.end(),
                                  [&](const auto& mapping) { return mapping->handle() == handle; });
  if (found == cached_.end()) return nullptr;
  cached_.splice(cached_.begin(), cached_, found);
  return cached_.front();
}

std::shared_ptr<const PeerMemoryCache::Mapping> PeerMemoryCache::insert(
    std::shared_ptr<const Mapping> made) {
  std::list<std::shared_ptr<const Mapping>> gone;  // unmapped after the lock is released
  const std::lock_guard lock(mutex_);
  cached_bytes_ += made->handle().bytes;
  cached_.push_front(made);
  while (cached_.size() > bounds_.mappings || cached_bytes_ > bounds_.bytes) {
    cached_bytes_ -= cached_.back()->handle().bytes;
    gone.splice(gone.begin(), cached_, std::prev(cached_.end()));
  }
  return made;
}

std::size_t PeerMemoryCache::mapping_count() const {
  const std::lock_guard lock(mutex_);
  return cached_.size();
}

}  // namespace forebay::write
