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

/// Address space that starts at a multiple of kArenaAlignmentBytes; empty if there is none left.
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

/// Gives every page its memory now, so that no transfer pays for page faults. False if memory ran
/// out.
bool prefault(std::span<std::byte> arena) {
  ::madvise(arena.data(), arena.size(), MADV_HUGEPAGE);  // a wish: works without
  if (::madvise(arena.data(), arena.size(), kPopulateWrite) == 0) return true;
  if (errno != EINVAL) return false;
  for (std::size_t i = 0; i < arena.size(); i += kPageBytes)
    arena[i] = std::byte{0};
  return true;
}

Error no_memory(std::size_t bytes, int error_number) {
  return system_error({.operation = "allocate a buffer pool",
                       .cause = std::to_string(bytes) + " bytes were asked for"},
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
  std::exchange(pool_, nullptr)->give_back(index_);
  bytes_ = {};
}

Result<std::unique_ptr<BufferPool>> BufferPool::create(Shape shape) {
  FOREBAY_ASSERT(shape.buffer_bytes > 0);
  FOREBAY_ASSERT(shape.count > 0);
  shape.buffer_bytes = round_up(shape.buffer_bytes, kPageBytes);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(shape.buffer_bytes, std::size_t{shape.count}, &bytes)) {
    return failure(no_memory(SIZE_MAX, ENOMEM));
  }
  const std::span<std::byte> arena = map_aligned(bytes);
  if (arena.empty()) return failure(no_memory(bytes, ENOMEM));
  std::unique_ptr<BufferPool> pool(new BufferPool(arena, shape));
  if (!prefault(arena)) return failure(no_memory(bytes, errno));
  return pool;
}

BufferPool::BufferPool(std::span<std::byte> arena, Shape shape)
    : arena_(arena), buffer_bytes_(shape.buffer_bytes), free_(shape.count) {}

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
  // Count ourselves first and look again then; give_back() pushes first and counts then. One of the
  // two sees the other.
  waiters_.fetch_add(1);
  const auto acquired = [&] {
    buffer = try_acquire();
    return buffer.has_value();
  };
  if (deadline) {
    given_back_.wait_until(lock, *deadline, acquired);
  } else {
    given_back_.wait(lock, acquired);
  }
  waiters_.fetch_sub(1);
  return buffer;
}

void BufferPool::give_back(std::uint32_t index) noexcept {
  free_.push(index);
  if (waiters_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  given_back_.notify_one();
}

}  // namespace forebay::storage
