// SPDX-License-Identifier: Apache-2.0
// The arena and its buffers. A free buffer costs two atomic operations; only an empty pool takes
// the lock.
#include "storage/buffer_pool.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <sys/mman.h>

#include "base/assert.hpp"

namespace forebay::storage {

namespace {

constexpr std::size_t kPageBytes = 4096;
#ifdef MADV_POPULATE_WRITE
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#else
constexpr int kPopulateWrite = 23;  // Linux 5.14, the same on all architectures
#endif

constexpr std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

/// Address space that starts at a multiple of kArenaAlignmentBytes; empty if addresses are
/// exhausted.
std::span<std::byte> map_aligned(std::size_t bytes) {
  const std::size_t mapped_bytes = bytes + kArenaAlignmentBytes;
  void* const mapping =
      ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return {};
  auto* const first = static_cast<std::byte*>(mapping);
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  const std::size_t before = round_up(address, kArenaAlignmentBytes) - address;
  const std::size_t after = mapped_bytes - before - bytes;
  if (before > 0) ::munmap(first, before);
  if (after > 0) ::munmap(first + before + bytes, after);
  return {first + before, bytes};
}

/// Allocates all pages now, so that transfers have no page faults. False if memory is exhausted.
bool prefault(std::span<std::byte> arena) {
  ::madvise(arena.data(), arena.size(), MADV_HUGEPAGE);  // best effort
  if (::madvise(arena.data(), arena.size(), kPopulateWrite) == 0) return true;
  if (errno != EINVAL) return false;
  for (std::size_t i = 0; i < arena.size(); i += kPageBytes)
    arena[i] = std::byte{0};
  return true;
}

Error no_memory_error(std::size_t bytes, int error_number) {
  return system_error({.operation = "allocate a buffer pool",
                       .cause = std::to_string(bytes) + " bytes are requested"},
                      error_number);
}

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      index_(other.index_),
      bytes_(std::exchange(other.bytes_, {})) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    index_ = other.index_;
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

void Buffer::release() noexcept {
  if (pool_ == nullptr) return;
  std::exchange(pool_, nullptr)->release(index_);
  bytes_ = {};
}

Result<std::unique_ptr<BufferPool>> BufferPool::create(Options options) {
  FOREBAY_ASSERT(options.buffer_bytes > 0);
  FOREBAY_ASSERT(options.count > 0);
  options.buffer_bytes = round_up(options.buffer_bytes, kPageBytes);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(options.buffer_bytes, std::size_t{options.count}, &bytes)) {
    return failure(no_memory_error(SIZE_MAX, ENOMEM));
  }
  const std::span<std::byte> arena = map_aligned(bytes);
  if (arena.empty()) return failure(no_memory_error(bytes, ENOMEM));
  std::unique_ptr<BufferPool> pool(new BufferPool(arena, options));
  if (!prefault(arena)) return failure(no_memory_error(bytes, errno));
  return pool;
}

BufferPool::BufferPool(std::span<std::byte> arena, Options options)
    : arena_(arena), buffer_bytes_(options.buffer_bytes), free_(options.count) {}

BufferPool::~BufferPool() { ::munmap(arena_.data(), arena_.size()); }

std::optional<Buffer> BufferPool::try_acquire() noexcept {
  const std::optional<std::uint32_t> index = free_.pop();
  if (!index) return std::nullopt;
  return Buffer(*this, *index, arena_.subspan(*index * buffer_bytes_, buffer_bytes_));
}

std::optional<Buffer> BufferPool::acquire(Deadline deadline) {
  if (std::optional<Buffer> buffer = try_acquire()) return buffer;
  std::optional<Buffer> buffer;
  std::unique_lock lock(mutex_);
  // This increments the count first and checks again; release() pushes first and then reads the
  // count. One of the two sees the other.
  waiters_.fetch_add(1);
  const auto acquired = [&] {
    buffer = try_acquire();
    return buffer.has_value();
  };
  if (deadline) {
    buffer_released_.wait_until(lock, *deadline, acquired);
  } else {
    buffer_released_.wait(lock, acquired);
  }
  waiters_.fetch_sub(1);
  return buffer;
}

void BufferPool::release(std::uint32_t index) noexcept {
  free_.push(index);
  if (waiters_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  buffer_released_.notify_one();
}

}  // namespace forebay::storage
