// SPDX-License-Identifier: Apache-2.0
// Window: memory of a session that is mapped twice back to back, so that a piece which wraps around
// its end is still contiguous. It lies in a memfd: later other processes map the same pages, so it
// is addressed by offset only.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::shm {

/// A growing piece of shared memory. Not thread-safe; addresses it gave out stay valid until it is
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
  ~Window();

  /// An empty window. Fails if the system has no memfd left (kLimit, kUnsupported).
  static Result<Window> create();

  /// Maps the first `size_bytes` of the window twice in a row, adding memory if it has less, and
  /// returns where: byte i and byte i + size_bytes of the result are the same byte. `size_bytes` is
  /// a multiple of the page size. Earlier results stay mapped, and show the same memory. The memory
  /// is prefaulted, with huge pages where the size has room for them and the kernel has them. Fails
  /// with kLimit or kNoSpace.
  Result<std::byte*> map(std::uint64_t size_bytes);

  /// Memory held now: the largest size mapped so far.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }

 private:
  struct Mapping {
    std::byte* base = nullptr;
    std::uint64_t size_bytes = 0;
  };

  void swap(Window& other) noexcept;
  Status reserve(std::byte* base, std::uint64_t size_bytes);
  void take_huge_pages(std::byte* base, std::uint64_t size_bytes);

  int descriptor_ = -1;
  std::uint64_t size_bytes_ = 0;
  std::vector<Mapping> mappings_;
};

/// The granularity of Window::map().
std::uint64_t page_bytes() noexcept;

}  // namespace forebay::shm
