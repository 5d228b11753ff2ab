// SPDX-License-Identifier: Apache-2.0
#include "shm/shared_memory.hpp"

#include <cerrno>
#include <string>

#include <sys/mman.h>

#include "base/assert.hpp"

namespace forebay::shm {

SharedMemory::~SharedMemory() {
  if (base_ != nullptr) ::munmap(base_, size_bytes_);
}

void SharedMemory::swap(SharedMemory& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(base_, other.base_);
  std::swap(size_bytes_, other.size_bytes_);
}

Status SharedMemory::map(std::uint64_t size_bytes, Protection protection) {
  FOREBAY_ASSERT(size_bytes > 0);
  void* const place =
      ::mmap(nullptr, size_bytes, mmap_protection(protection), MAP_SHARED, descriptor_.get(), 0);
  if (place == MAP_FAILED) {
    return failure(system_error(
        {.operation = "map shared memory", .cause = "for " + std::to_string(size_bytes) + " bytes"},
        errno));
  }
  base_ = static_cast<std::byte*>(place);
  size_bytes_ = size_bytes;
  return {};
}

Result<SharedMemory> SharedMemory::create(const char* name, std::uint64_t size_bytes) {
  auto memfd = create_memfd(name);
  if (!memfd) return failure(memfd.error());
  SharedMemory memory(std::move(*memfd));
  // Addresses first: an impossible size fails here, before any memory is allocated.
  if (auto mapped = memory.map(size_bytes, Protection::kReadWrite); !mapped)
    return failure(mapped.error());
  if (auto reserved = reserve_memory(memory.descriptor_, 0, size_bytes); !reserved)
    return failure(reserved.error());
  return memory;
}

Result<SharedMemory> SharedMemory::attach(Descriptor descriptor,
                                          std::uint64_t size_bytes,
                                          Protection protection) {
  if (auto fits = check_memfd(descriptor, size_bytes); !fits) return failure(fits.error());
  SharedMemory memory(std::move(descriptor));
  if (auto mapped = memory.map(size_bytes, protection); !mapped) return failure(mapped.error());
  return memory;
}

Result<Descriptor> SharedMemory::share(Protection protection) const {
  return share_memfd(descriptor_, protection);
}

}  // namespace forebay::shm
