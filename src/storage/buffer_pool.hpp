// SPDX-License-Identifier: Apache-2.0
// The memory of transfers: a fixed number of equal buffers in one prefaulted arena, handed out and
// back through a lock-free free list. Its size is the back-pressure: who outruns storage waits
// here, and memory never grows.
#pragma once

#include <forebay/error.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/clock.hpp"
#include "storage/index_stack.hpp"

namespace forebay::storage {

/// The arena starts at a multiple of this, so that the kernel can back it with huge pages.
inline constexpr std::size_t kArenaAlignmentBytes = std::size_t{2} << 20U;

class BufferPool;

/// One borrowed buffer; goes back to its pool when it is destroyed. Any thread may do that. Must
/// not outlive the pool.
class [[nodiscard]] Buffer {
 public:
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { release(); }

  std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// Which of the pool's buffers it is: 0 .. count - 1.
  std::uint32_t index() const noexcept { return index_; }
  /// Hands it back now; the handle is empty afterwards.
  void release() noexcept;

 private:
  friend class BufferPool;
  Buffer(BufferPool& pool, std::uint32_t index, std::span<std::byte> bytes) noexcept
      : pool_(&pool), index_(index), bytes_(bytes) {}

  BufferPool* pool_;
  std::uint32_t index_;
  std::span<std::byte> bytes_;
};

/// `count` buffers of `buffer_bytes` each. All calls from any thread.
class BufferPool {
 public:
  struct Shape {
    std::size_t buffer_bytes;  ///< rounded up to a multiple of 4 KiB
    std::uint32_t count;
  };

  /// Maps and touches the whole arena. kLimit if the system has no memory for it.
  static Result<std::unique_ptr<BufferPool>> create(Shape shape);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// A buffer if one is free. Never blocks.
  std::optional<Buffer> try_acquire() noexcept;

  /// Blocks until a buffer is free; no value if the deadline passes first.
  std::optional<Buffer> acquire(Deadline deadline);

  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  std::uint32_t count() const noexcept { return free_.capacity(); }

  /// All of it, for Engine::add_buffers.
  std::span<std::byte> arena() const noexcept { return arena_; }

 private:
  friend class Buffer;
  BufferPool(std::span<std::byte> arena, Shape shape);
  void give_back(std::uint32_t index) noexcept;

  const std::span<std::byte> arena_;
  const std::size_t buffer_bytes_;
  IndexStack free_;
  alignas(kHotAtomicBytes) std::atomic<std::uint32_t> waiters_{0};
  std::mutex mutex_;
  std::condition_variable given_back_;
};

}  // namespace forebay::storage
