// SPDX-License-Identifier: Apache-2.0
// A memfd and its double mappings. Growing maps the larger size at a new address and keeps the old
// mappings, since views may use them.
#include "shm/window.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace forebay::shm {

namespace {

Error window_error(const char* operation, int error_number, std::uint64_t size_bytes) {
  return system_error(
      {.operation = operation, .cause = "for a window of " + std::to_string(size_bytes) + " bytes"},
      error_number);
}

}  // namespace

Result<Window> Window::create() {
  auto memfd = create_memfd("forebay-window");
  if (!memfd) return failure(memfd.error());
  Window window;
  window.descriptor_ = std::move(*memfd);
  return window;
}

void Window::swap(Window& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(file_bytes_, other.file_bytes_);
  std::swap(mappings_, other.mappings_);
}

Status Window::reserve(std::byte* base, std::uint64_t size_bytes) {
  if (size_bytes <= size_bytes_) return {};
  auto reserved = reserve_missing(base, size_bytes);
  if (reserved) {
    size_bytes_ = size_bytes;
    return {};
  }
  release_memory(descriptor_, size_bytes_, file_bytes_);
  return failure(window_error(reserved.error().operation().c_str(), reserved.error().error_number(),
                              size_bytes));
}

Status Window::reserve_missing(std::byte* base, std::uint64_t size_bytes) {
  if (size_bytes > file_bytes_) {
    if (::ftruncate(descriptor_.get(), static_cast<off_t>(size_bytes)) != 0) {
      return failure(system_error({.operation = "reserve shared memory"}, errno));
    }
    file_bytes_ = size_bytes;
  }
  populate_huge_pages(base, size_bytes);
  return reserve_memory(descriptor_, size_bytes_, size_bytes);
}

/// A direct transfer into a huge page needs one DMA segment; into small pages it needs hundreds.
/// MADV_COLLAPSE makes huge pages whatever the machine's setting for shared memory. It needs one
/// present page of each, and one call for each: a window grows by few huge pages at a time. On
/// failure the rest of the memory gets small pages.
void Window::populate_huge_pages(std::byte* base, std::uint64_t size_bytes) {
  const std::uint64_t huge = huge_page_bytes();
  if (huge == 0) return;
  const std::uint64_t first = (size_bytes_ + huge - 1) / huge * huge;
  for (std::uint64_t at = first; at + huge <= size_bytes; at += huge) {
    if (!reserve_memory(descriptor_, at, at + page_bytes())) return;
    if (!populate(base + at, page_bytes(), Protection::kReadWrite)) return;
    if (!collapse(base + at, huge)) return;
  }
}

Result<std::byte*> Window::map(std::uint64_t size_bytes) {
  if (const DoubleMapping* known = find_mapping(mappings_, size_bytes)) return known->base();
  // Addresses first: an impossible size fails here, before any memory is allocated.
  auto mapping = DoubleMapping::make(descriptor_, size_bytes, Protection::kReadWrite);
  if (!mapping) return failure(mapping.error());
  if (auto reserved = reserve(mapping->base(), size_bytes); !reserved)
    return failure(reserved.error());
  static_cast<void>(populate(mapping->base(), 2 * size_bytes, Protection::kReadWrite));
  mappings_.push_back(std::move(*mapping));
  return mappings_.back().base();
}

Result<Descriptor> Window::share(Protection protection) const {
  return share_memfd(descriptor_, protection);
}

Result<WindowView> WindowView::attach(Descriptor descriptor) {
  if (auto sealed = check_sealed(descriptor); !sealed) return failure(sealed.error());
  return WindowView(std::move(descriptor));
}

Result<const std::byte*> WindowView::map(std::uint64_t size_bytes) {
  if (const DoubleMapping* known = find_mapping(mappings_, size_bytes)) return known->base();
  if (auto fits = check_memfd(descriptor_, size_bytes); !fits) return failure(fits.error());
  if (size_bytes % page_bytes() != 0) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "map a shared window",
                    .cause = std::to_string(size_bytes) + " bytes are not whole pages"});
  }
  auto mapping = DoubleMapping::make(descriptor_, size_bytes, Protection::kReadOnly);
  if (!mapping) return failure(mapping.error());
  static_cast<void>(populate(mapping->base(), 2 * size_bytes, Protection::kReadOnly));
  mappings_.push_back(std::move(*mapping));
  return mappings_.back().base();
}

}  // namespace forebay::shm
