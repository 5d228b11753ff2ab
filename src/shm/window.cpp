// SPDX-License-Identifier: Apache-2.0
// A memfd and its double mappings. Growing maps the larger size at a new place and leaves the old
// places alone, since views may point into them.
#include "shm/window.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <fstream>
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

// Linux 6.1; the headers of older C libraries do not have it.
#ifdef MADV_COLLAPSE
constexpr int kCollapse = MADV_COLLAPSE;
#else
constexpr int kCollapse = 25;
#endif
// Linux 5.14.
#ifdef MADV_POPULATE_WRITE
constexpr int kPopulate = MADV_POPULATE_WRITE;
#else
constexpr int kPopulate = 23;
#endif

/// What the processor maps by one entry of its second level; 0 where the kernel does not say.
std::uint64_t huge_page_bytes() {
  static const std::uint64_t size = [] {
    std::uint64_t bytes = 0;
    std::ifstream("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") >> bytes;
    return std::has_single_bit(bytes) ? bytes : 0;
  }();
  return size;
}

std::byte* align_up(std::byte* address, std::uint64_t alignment_bytes) {
  const auto over = reinterpret_cast<std::uintptr_t>(address) % alignment_bytes;
  return over == 0 ? address : address + (alignment_bytes - over);
}

/// Addresses for 2 * size_bytes, such that huge pages fit; null and errno if there are none.
std::byte* take_addresses(std::uint64_t size_bytes) {
  const std::uint64_t alignment = std::max(huge_page_bytes(), page_bytes());
  const std::uint64_t needed = 2 * size_bytes;
  if (needed / 2 != size_bytes || needed + alignment < needed) {
    errno = ENOMEM;
    return nullptr;
  }
  const std::uint64_t taken = needed + alignment;
  void* const place = ::mmap(nullptr, taken, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(place);
  std::byte* const base = align_up(first, alignment);
  if (base != first) ::munmap(first, static_cast<std::size_t>(base - first));
  ::munmap(base + needed, taken - needed - static_cast<std::uint64_t>(base - first));
  return base;
}

}  // namespace

std::uint64_t page_bytes() noexcept {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

Result<Window> Window::create() {
  Window window;
  window.descriptor_ = ::memfd_create("forebay-window", MFD_CLOEXEC);
  if (window.descriptor_ < 0) {
    return tl::unexpected<Error>(
        system_error({.operation = "create shared memory for a window"}, errno));
  }
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

Status Window::reserve(std::byte* base, std::uint64_t size_bytes) {
  if (size_bytes <= size_bytes_) return {};
  if (::ftruncate(descriptor_, static_cast<off_t>(size_bytes)) != 0)
    return window_error("reserve shared memory", errno, size_bytes);
  take_huge_pages(base, size_bytes);
  // fallocate, unlike ftruncate, takes the memory now: a full /dev/shm is an error here instead of
  // a SIGBUS later.
  const auto added = static_cast<off_t>(size_bytes - size_bytes_);
  if (::fallocate(descriptor_, 0, static_cast<off_t>(size_bytes_), added) != 0) {
    const int error_number = errno;
    static_cast<void>(::ftruncate(descriptor_, static_cast<off_t>(size_bytes_)));
    return window_error("reserve shared memory", error_number, size_bytes);
  }
  size_bytes_ = size_bytes;
  return {};
}

/// Direct transfers into memory that is contiguous for the device need one descriptor where single
/// pages need hundreds. MADV_COLLAPSE gives huge pages whatever the machine's setting for shared
/// memory; it asks for one page to be there. What fails here is made of small pages by reserve().
void Window::take_huge_pages(std::byte* base, std::uint64_t size_bytes) {
  const std::uint64_t huge = huge_page_bytes();
  if (huge == 0) return;
  const std::uint64_t first = (size_bytes_ + huge - 1) / huge * huge;
  for (std::uint64_t at = first; at + huge <= size_bytes; at += huge) {
    const auto page = static_cast<off_t>(page_bytes());
    if (::fallocate(descriptor_, 0, static_cast<off_t>(at), page) != 0) return;
    if (::madvise(base + at, page_bytes(), kPopulate) != 0) return;
    if (::madvise(base + at, huge, kCollapse) != 0) return;
  }
}

Result<std::byte*> Window::map(std::uint64_t size_bytes) {
  FOREBAY_ASSERT(size_bytes > 0);
  FOREBAY_ASSERT(size_bytes % page_bytes() == 0);
  const auto known = std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapping& mapping) {
    return mapping.size_bytes == size_bytes;
  });
  if (known != mappings_.end()) return known->base;

  // Addresses first: a size that nothing can hold fails here, before any memory is taken.
  std::byte* const base = take_addresses(size_bytes);
  if (base == nullptr) return window_error("map shared memory", errno, size_bytes);
  for (std::byte* half : {base, base + size_bytes}) {
    const void* mapped =
        ::mmap(half, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor_, 0);
    if (mapped != MAP_FAILED) continue;
    const int error_number = errno;
    ::munmap(base, 2 * size_bytes);
    return window_error("map shared memory", error_number, size_bytes);
  }
  if (auto reserved = reserve(base, size_bytes); !reserved) {
    ::munmap(base, 2 * size_bytes);
    return tl::unexpected<Error>(reserved.error());
  }
  // Where the kernel does not know this, each page is mapped when it is touched first.
  static_cast<void>(::madvise(base, 2 * size_bytes, kPopulate));
  mappings_.push_back({base, size_bytes});
  return base;
}

}  // namespace forebay::shm
