// SPDX-License-Identifier: Apache-2.0
// BufferPool: memory of transfers. A fixed number of equal buffers in one prefaulted arena, managed
// by a lock-free free list. Its size is the back-pressure: a program that is faster than storage
// waits here, and memory never grows.
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

/// Alignment of the arena, so that the kernel can use huge pages.
inline constexpr std::size_t kArenaAlignmentBytes = std::size_t{2} << 20U;

class BufferPool;

/// One acquired buffer; the destructor returns it to its pool, on any thread. Must not outlive the
/// pool.
class [[nodiscard]] Buffer {
 public:
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { release(); }

  std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// Index of the buffer in the pool: 0 .. count - 1.
  std::uint32_t index() const noexcept { return index_; }
  /// Returns it now; the handle is empty afterwards.
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
  struct Options {
    std::size_t buffer_bytes;  ///< rounded up to a multiple of 4 KiB
    std::uint32_t count;
  };

  /// Maps and prefaults the whole arena. kLimit if the system has not enough memory.
  static Result<std::unique_ptr<BufferPool>> create(Options options);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// A buffer if one is free. Never blocks.
  std::optional<Buffer> try_acquire() noexcept;

  /// Blocks until a buffer is free; no value if the deadline passes first.
  std::optional<Buffer> acquire(Deadline deadline);

  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  std::uint32_t count() const noexcept { return free_.capacity(); }

  /// The whole arena, for Engine::register_buffers.
  std::span<std::byte> arena() const noexcept { return arena_; }

 private:
  friend class Buffer;
  BufferPool(std::span<std::byte> arena, Options options);
  void release(std::uint32_t index) noexcept;

  const std::span<std::byte> arena_;
  const std::size_t buffer_bytes_;
  IndexStack free_;
  alignas(kFalseSharingBytes) std::atomic<std::uint32_t> waiters_{0};
  std::mutex mutex_;
  std::condition_variable buffer_released_;
};

}  // namespace forebay::storage
