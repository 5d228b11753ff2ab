// SPDX-License-Identifier: Apache-2.0
// Memory is created, pinned and unmapped outside the lock: those calls can take long.
#include "shm/buffer_allocator.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"

namespace forebay::shm {

namespace {

/// Size of slabs, and granularity of larger sizes: one huge page.
constexpr std::uint64_t kSlabBytes = 2U << 20U;
/// Larger buffers have separate memory.
constexpr std::uint64_t kBlockBytesMax = kSlabBytes / 2;
/// Above the memory of any machine: sums do not overflow.
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 47U;
/// Cached memory may exceed the requested size by this fraction.
constexpr std::uint64_t kSlackDivisor = 8;

Status check_request(std::uint64_t size_bytes) {
  if (size_bytes <= kBytesMax) return {};
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "allocate",
                  .cause = std::to_string(size_bytes) + " bytes are more than any machine has"});
}

Result<NodeMemory> make_memory(std::uint64_t size_bytes, MemoryKind kind) {
  auto memory = NodeMemory::create("forebay-buffer", size_bytes);
  if (!memory) return memory;
  if (auto prefaulted = memory->prefault({0, size_bytes}); !prefaulted)
    return failure(prefaulted.error());
  if (kind != MemoryKind::kPinned) return memory;
  if (auto locked = memory->lock_memory(); !locked) return failure(locked.error());
  return memory;
}

}  // namespace

BufferAllocation::~BufferAllocation() {
  // In a forked child the memory is shared with the parent, which still uses it.
  if (origin.is_current()) allocator->release(std::move(block));
}

Buffer BufferAllocation::make_buffer(std::unique_ptr<BufferAllocation> allocation,
                                     std::uint64_t size_bytes,
                                     MemoryKind kind) {
  Buffer buffer;
  buffer.kind_ = kind;
  if (!allocation) return buffer;
  buffer.data_ = allocation->block.data();
  buffer.size_bytes_ = checked_cast<std::size_t>(size_bytes);
  buffer.allocation_ = std::move(allocation);
  return buffer;
}

MemoryLocation BufferAllocation::location_of(const Buffer& buffer) {
  FOREBAY_ASSERT(buffer.allocation_ != nullptr);
  const BufferBlock& block = buffer.allocation_->block;
  return {.memory = block.memory().handle(), .offset_bytes = block.offset_bytes};
}

MemoryLocation location_of(const Buffer& buffer) { return BufferAllocation::location_of(buffer); }

MemoryLocation location_of(const AdoptedBuffer& buffer) { return location_of(buffer.buffer()); }

std::shared_ptr<BufferAllocator> BufferAllocator::make(std::uint64_t cached_bytes_max) {
  return std::shared_ptr<BufferAllocator>(new BufferAllocator(cached_bytes_max));
}

BufferAllocator::~BufferAllocator() { disable_cache(); }

Result<Buffer> BufferAllocator::allocate(std::uint64_t size_bytes, MemoryKind kind) {
  if (auto possible = check_request(size_bytes); !possible) return failure(possible.error());
  if (size_bytes == 0) return BufferAllocation::make_buffer(nullptr, 0, kind);
  auto block = size_bytes > kBlockBytesMax
                   ? allocate_whole((size_bytes + kSlabBytes - 1) / kSlabBytes * kSlabBytes, kind)
                   : allocate_block(std::bit_ceil(std::max(size_bytes, kDirectAlignment)), kind);
  if (!block) return failure(block.error());
  auto allocation = std::make_unique<BufferAllocation>(shared_from_this(), std::move(*block));
  return BufferAllocation::make_buffer(std::move(allocation), size_bytes, kind);
}

Result<BufferBlock> BufferAllocator::allocate_whole(std::uint64_t size_bytes, MemoryKind kind) {
  if (auto cached = find_cached(size_bytes, kind, CacheMatch::kPrefaulted))
    return BufferBlock{.kind = kind, .whole = std::move(cached->memory)};
  auto made = make_memory(size_bytes, kind);
  if (!made) return failure(made.error());
  const std::lock_guard lock(mutex_);
  counts_.allocated_bytes += size_bytes;
  ++counts_.created_count;
  return BufferBlock{.kind = kind, .whole = std::move(*made)};
}

Result<BufferBlock> BufferAllocator::allocate_block(std::uint64_t block_bytes, MemoryKind kind) {
  const SlabKey key{kind, block_bytes};
  if (auto found = find_free_block(key)) return std::move(*found);
  auto whole = allocate_whole(kSlabBytes, kind);
  if (!whole) return whole;
  auto slab = std::make_shared<BufferSlab>(
      BufferSlab{.memory = std::move(whole->whole), .kind = kind, .block_bytes = block_bytes});
  for (auto number = checked_cast<std::uint32_t>(kSlabBytes / block_bytes); number > 1; --number)
    slab->free.push_back(number - 1);
  BufferBlock first{.kind = kind, .slab = slab};
  const std::lock_guard lock(mutex_);
  slabs_[key].push_front(std::move(slab));
  return first;
}

std::optional<BufferBlock> BufferAllocator::find_free_block(const SlabKey& key) {
  const std::lock_guard lock(mutex_);
  Slabs& slabs = slabs_[key];
  if (slabs.empty()) return std::nullopt;
  std::shared_ptr<BufferSlab> slab = slabs.front();
  const std::uint64_t offset_bytes = slab->free.back() * slab->block_bytes;
  slab->free.pop_back();
  if (slab->free.empty()) slabs.pop_front();
  return BufferBlock{.kind = slab->kind, .slab = std::move(slab), .offset_bytes = offset_bytes};
}

/// The smallest match, of these the one with the most prefaulted bytes, of these the newest.
std::optional<BufferAllocator::CachedMemory> BufferAllocator::find_cached(std::uint64_t size_bytes,
                                                                          MemoryKind kind,
                                                                          CacheMatch match) {
  const std::lock_guard lock(mutex_);
  const auto suits = [&](const CachedMemory& cached) {
    return cached.kind == kind && (match == CacheMatch::kAny || cached.is_prefaulted()) &&
           cached.size_bytes() >= size_bytes &&
           cached.size_bytes() - size_bytes <= size_bytes / kSlackDivisor;
  };
  const auto is_better = [](const CachedMemory& one, const CachedMemory& other) {
    return one.size_bytes() != other.size_bytes() ? one.size_bytes() < other.size_bytes()
                                                  : one.prefaulted_bytes > other.prefaulted_bytes;
  };
  auto best = cache_.end();
  for (auto at = cache_.begin(); at != cache_.end(); ++at)
    if (suits(*at) && (best == cache_.end() || is_better(*at, *best))) best = at;
  if (best == cache_.end()) return std::nullopt;
  counts_.cached_bytes -= best->prefaulted_bytes;
  counts_.allocated_bytes += best->size_bytes();
  CachedMemory found = std::move(*best);
  cache_.erase(best);
  return found;
}

Result<MemoryRegion> BufferAllocator::acquire(const char* label, std::uint64_t size_bytes) {
  if (auto cached = find_cached(size_bytes, MemoryKind::kHost, CacheMatch::kAny))
    return MemoryRegion{.memory = std::move(cached->memory),
                        .prefaulted_bytes = cached->prefaulted_bytes};
  auto made = NodeMemory::create(label, size_bytes);
  if (!made) return failure(made.error());
  const std::lock_guard lock(mutex_);
  counts_.allocated_bytes += size_bytes;
  ++counts_.created_count;
  return MemoryRegion{.memory = std::move(*made)};
}

void BufferAllocator::release(MemoryRegion region) noexcept {
  RetiredMemory retired;
  const std::lock_guard lock(mutex_);
  CachedMemory cached{.kind = MemoryKind::kHost,
                      .memory = std::move(region.memory),
                      .prefaulted_bytes = region.prefaulted_bytes};
  if (cached.prefaulted_bytes > 0) return add_to_cache(std::move(cached), retired);
  counts_.allocated_bytes -= cached.size_bytes();
  retired.memories.push_front(std::move(cached));
}

void BufferAllocator::release(BufferBlock block) noexcept {
  RetiredMemory retired;
  const std::lock_guard lock(mutex_);
  if (block.slab && !release_block(block)) return;
  NodeMemory& memory = block.slab ? block.slab->memory : block.whole;
  const std::uint64_t size_bytes = memory.bytes().size();
  add_to_cache({.kind = block.kind, .memory = std::move(memory), .prefaulted_bytes = size_bytes},
               retired);
}

/// Frees a block. True if the slab has no block in use any more; it is then in no list.
bool BufferAllocator::release_block(const BufferBlock& block) {
  BufferSlab& slab = *block.slab;
  Slabs& slabs = slabs_[{slab.kind, slab.block_bytes}];
  if (slab.free.empty()) slabs.push_front(block.slab);
  slab.free.push_back(checked_cast<std::uint32_t>(block.offset_bytes / slab.block_bytes));
  if (slab.free.size() < kSlabBytes / slab.block_bytes) return false;
  slabs.remove(block.slab);
  return true;
}

void BufferAllocator::add_to_cache(CachedMemory cached, RetiredMemory& retired) {
  counts_.allocated_bytes -= cached.size_bytes();
  if (cached.prefaulted_bytes > cached_bytes_max_) {  // would evict all others
    retired.memories.push_front(std::move(cached));
    return;
  }
  counts_.cached_bytes += cached.prefaulted_bytes;
  cache_.push_front(std::move(cached));
  evict_beyond(cached_bytes_max_, retired);
}

/// Evicts the oldest cached memory until at most `bytes_max` are left.
void BufferAllocator::evict_beyond(std::uint64_t bytes_max, RetiredMemory& retired) {
  while (counts_.cached_bytes > bytes_max) {
    counts_.cached_bytes -= cache_.back().prefaulted_bytes;
    retired.memories.splice(retired.memories.begin(), cache_, std::prev(cache_.end()));
  }
}

void BufferAllocator::disable_cache() noexcept {
  RetiredMemory retired;
  const std::lock_guard lock(mutex_);
  cached_bytes_max_ = 0;
  evict_beyond(0, retired);
}

BufferAllocator::Counts BufferAllocator::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace forebay::shm
