// SPDX-License-Identifier: Apache-2.0
// A memory is mapped whole, whatever range is asked for first: that costs addresses and nothing
// else, and the next range of it is there already.
#include "write/peer_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <sys/mman.h>

#include "shm/double_mapping.hpp"

namespace forebay::write {

/// One memory of another process, as long as somebody needs it.
class PeerMemory::Mapping {
 public:
  Mapping(const MemoryName& name, std::byte* base) noexcept : name_(name), base_(base) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(base_, name_.bytes); }

  static Result<std::shared_ptr<const Mapping>> make(const MemoryName& name);

  const MemoryName& name() const noexcept { return name_; }
  std::byte* base() const noexcept { return base_; }

 private:
  const MemoryName name_;
  std::byte* const base_;
};

Result<std::shared_ptr<const PeerMemory::Mapping>> PeerMemory::Mapping::make(
    const MemoryName& name) {
  const auto opened = shm::open_named_memory(name);
  if (!opened) return failure(opened.error());
  const auto failed = [&name] {
    return failure(system_error({.operation = "map memory of a process of this node",
                                 .cause = "for " + std::to_string(name.bytes) +
                                          " bytes of process " + std::to_string(name.process)},
                                errno));
  };
  std::byte* const base = shm::reserve_addresses(name.bytes);
  if (base == nullptr) return failed();
  auto mapping = std::make_shared<const Mapping>(name, base);
  if (::mmap(base, name.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, opened->get(), 0) ==
      MAP_FAILED) {
    return failed();
  }
  return mapping;
}

Result<PeerBytes> PeerMemory::map(const MemoryName& name, const ByteRange& range) {
  if (!ByteRange{0, name.bytes}.contains(range)) {
    return failure({.kind = ErrorClass::kOutOfRange,
                    .operation = "map memory of a process of this node",
                    .offset_bytes = range.offset,
                    .cause = std::to_string(range.size) + " bytes from here, of memory that has " +
                             std::to_string(name.bytes)});
  }
  if (range.empty()) return PeerBytes{};
  auto mapping = find(name);
  if (!mapping) {
    auto made = Mapping::make(name);
    if (!made) return failure(made.error());
    mapping = keep(std::move(*made));
  }
  return PeerBytes{.bytes = {mapping->base() + range.offset, range.size}, .mapping = mapping};
}

std::shared_ptr<const PeerMemory::Mapping> PeerMemory::find(const MemoryName& name) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const auto& mapping) { return mapping->name() == name; });
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return kept_.front();
}

std::shared_ptr<const PeerMemory::Mapping> PeerMemory::keep(std::shared_ptr<const Mapping> made) {
  std::list<std::shared_ptr<const Mapping>> gone;  // unmapped after the lock
  const std::lock_guard lock(mutex_);
  kept_bytes_ += made->name().bytes;
  kept_.push_front(made);
  while (kept_.size() > bounds_.mappings || kept_bytes_ > bounds_.bytes) {
    kept_bytes_ -= kept_.back()->name().bytes;
    gone.splice(gone.begin(), kept_, std::prev(kept_.end()));
  }
  return made;
}

template <class Which>
void PeerMemory::forget_if(const Which& which) noexcept {
  std::list<std::shared_ptr<const Mapping>> gone;
  const std::lock_guard lock(mutex_);
  for (auto at = kept_.begin(); at != kept_.end();) {
    const auto next = std::next(at);
    if (which((*at)->name())) {
      kept_bytes_ -= (*at)->name().bytes;
      gone.splice(gone.end(), kept_, at);
    }
    at = next;
  }
}

void PeerMemory::forget(std::uint32_t process) noexcept {
  forget_if([process](const MemoryName& name) { return name.process == process; });
}

void PeerMemory::forget(const MemoryName& name) noexcept {
  forget_if([&name](const MemoryName& other) { return other == name; });
}

std::size_t PeerMemory::mapping_count() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

}  // namespace forebay::write
