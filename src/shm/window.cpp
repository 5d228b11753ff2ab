// SPDX-License-Identifier: Apache-2.0
// A memfd and its double mappings. Growing maps the larger size at a new place and leaves the old
// places alone, since views may point into them.
#include "shm/window.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.hpp"

namespace forebay::shm {

namespace {

tl::unexpected<Error> window_error(const char* operation,
                                   int error_number,
                                   std::uint64_t size_bytes) {
  return tl::unexpected<Error>(system_error(
      {.operation = operation, .cause = "for a window of " + std::to_string(size_bytes) + " bytes"},
      error_number));
}

}  // namespace

std::uint64_t page_bytes() noexcept {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

Result<Window> Window::create() {
  Window window;
  window.descriptor_ = ::memfd_create("forebay-window", MFD_CLOEXEC);
  if (window.descriptor_ < 0) return window_error("create shared memory", errno, 0);
  return window;
}

Window::~Window() {
  for (const Mapping& mapping : mappings_)
    ::munmap(mapping.base, 2 * mapping.size_bytes);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Window::swap(Window& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(mappings_, other.mappings_);
}

Status Window::reserve(std::uint64_t size_bytes) {
  if (size_bytes <= size_bytes_) return {};
  // fallocate, unlike ftruncate, takes the memory now: a full /dev/shm is an error here instead of
  // a SIGBUS later.
  const auto added = static_cast<off_t>(size_bytes - size_bytes_);
  if (::fallocate(descriptor_, 0, static_cast<off_t>(size_bytes_), added) != 0) {
    return window_error("reserve shared memory", errno, size_bytes);
  }
  size_bytes_ = size_bytes;
  return {};
}

Result<std::byte*> Window::map(std::uint64_t size_bytes) {
  FOREBAY_ASSERT(size_bytes > 0);
  FOREBAY_ASSERT(size_bytes % page_bytes() == 0);
  const auto known = std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapping& mapping) {
    return mapping.size_bytes == size_bytes;
  });
  if (known != mappings_.end()) return known->base;

  // Addresses first: a size that nothing can hold fails here, before any memory is taken.
  void* const place =
      ::mmap(nullptr, 2 * size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return window_error("map shared memory", errno, size_bytes);
  if (auto reserved = reserve(size_bytes); !reserved) {
    ::munmap(place, 2 * size_bytes);
    return tl::unexpected<Error>(reserved.error());
  }
  auto* const base = static_cast<std::byte*>(place);
  for (std::byte* half : {base, base + size_bytes}) {
    const void* mapped = ::mmap(half, size_bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_FIXED | MAP_POPULATE, descriptor_, 0);
    if (mapped == MAP_FAILED) {
      const int error_number = errno;
      ::munmap(base, 2 * size_bytes);
      return window_error("map shared memory", error_number, size_bytes);
    }
  }
  mappings_.push_back({base, size_bytes});
  return base;
}

}  // namespace forebay::shm
