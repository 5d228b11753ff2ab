// SPDX-License-Identifier: Apache-2.0
// Window: memory of a session that is mapped twice back to back, so that a range that wraps around
// its end is still contiguous. Other processes of the node map the same pages, for reading only and
// at other addresses: it is addressed by offset.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/descriptor.hpp"
#include "shm/double_mapping.hpp"
#include "shm/memfd.hpp"

namespace forebay::shm {

/// Shared memory that can grow. Not thread-safe; returned addresses stay valid until it is
/// destroyed.
class Window {
 public:
  Window() noexcept = default;
  Window(Window&& other) noexcept { swap(other); }
  Window& operator=(Window&& other) noexcept {
    Window taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Window() = default;

  /// An empty window. Fails as create_memfd() does.
  static Result<Window> create();

  /// Maps the first `size_bytes` of the window twice in a row, adding memory if it has less. Byte i
  /// and byte i + size_bytes of the result are the same byte. `size_bytes` is a multiple of the
  /// page size. Earlier results stay mapped, and show the same memory. The memory is prefaulted,
  /// with huge pages if the size has room for them and the kernel has them. Fails with kLimit or
  /// kNoSpace.
  Result<std::byte*> map(std::uint64_t size_bytes);

  /// Memory held now: the largest size mapped so far.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }

  /// A descriptor to pass to another process, for WindowView::attach(); see share_memfd().
  Result<Descriptor> share(Protection protection) const;

 private:
  void swap(Window& other) noexcept;
  Status reserve(std::byte* base, std::uint64_t size_bytes);
  Status reserve_missing(std::byte* base, std::uint64_t size_bytes);
  void populate_huge_pages(std::byte* base, std::uint64_t size_bytes);

  Descriptor descriptor_;
  std::uint64_t size_bytes_ = 0;
  /// Size of the memfd: above size_bytes_ after a failed growth, since it cannot shrink.
  std::uint64_t file_bytes_ = 0;
  std::vector<DoubleMapping> mappings_;
};

/// Read-only mappings of a window that another process owns. Not thread-safe; returned addresses
/// stay valid until it is destroyed, even if the owner ends.
class WindowView {
 public:
  WindowView() noexcept = default;

  /// Takes ownership of a descriptor from Window::share(). Fails with kInvalidArgument if the
  /// memory could shrink later.
  static Result<WindowView> attach(Descriptor descriptor);

  /// Maps the first `size_bytes` twice in a row for reading: see Window::map(). The owner must have
  /// mapped at least that size before: kDamage if the window has less. The size comes from the
  /// owner: kInvalidArgument if it is 0 or not whole pages. Fails with kLimit if addresses are
  /// exhausted.
  Result<const std::byte*> map(std::uint64_t size_bytes);

 private:
  explicit WindowView(Descriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

  Descriptor descriptor_;
  std::vector<DoubleMapping> mappings_;
};

}  // namespace forebay::shm
