// SPDX-License-Identifier: Apache-2.0
// BufferAllocator: caching allocator of the Buffers of a Runtime. The first access to fresh memory
// costs more than writing its bytes to storage. So freed memory is kept, within a bound, for later
// requests of about the same size. Each large buffer has its own memfd; small ones share slabs of
// 2 MiB, to save descriptors.
#pragma once

#include <forebay/buffer.hpp>
#include <forebay/detail/origin_process.hpp>
#include <forebay/error.hpp>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "shm/memory_handle.hpp"
#include "shm/node_memory.hpp"

namespace forebay::shm {

/// Memory that is divided into blocks of one size.
struct BufferSlab {
  NodeMemory memory;
  MemoryKind kind = MemoryKind::kHost;
  std::uint64_t block_bytes = 0;
  std::vector<std::uint32_t> free = {};  ///< indexes of free blocks
};

/// The memory behind one Buffer: a separate one, or a block of a slab.
struct BufferBlock {
  MemoryKind kind = MemoryKind::kHost;
  NodeMemory whole = {};
  std::shared_ptr<BufferSlab> slab = nullptr;
  std::uint64_t offset_bytes = 0;  ///< in the slab

  const NodeMemory& memory() const noexcept { return slab ? slab->memory : whole; }
  std::byte* data() const noexcept { return memory().bytes().data() + offset_bytes; }
};

/// Separate memory, which its user divides.
struct MemoryRegion {
  NodeMemory memory;
  std::uint64_t prefaulted_bytes = 0;  ///< bytes from its start that are faulted in
};

class BufferAllocator;

/// Content of a Buffer: a block, and the allocator to which it returns.
struct BufferAllocation {
  const detail::OriginProcess origin;
  std::shared_ptr<BufferAllocator> allocator;
  BufferBlock block;

  BufferAllocation(std::shared_ptr<BufferAllocator> from, BufferBlock taken) noexcept
      : allocator(std::move(from)), block(std::move(taken)) {}
  BufferAllocation(const BufferAllocation&) = delete;
  BufferAllocation& operator=(const BufferAllocation&) = delete;
  ~BufferAllocation();

  /// A Buffer of `size_bytes` of `allocation`; empty if it is null.
  static Buffer make_buffer(std::unique_ptr<BufferAllocation> allocation,
                            std::uint64_t size_bytes,
                            MemoryKind kind);
  static MemoryLocation location_of(const Buffer& buffer);
};

/// All calls from any thread. Each of its buffers keeps it alive.
class BufferAllocator : public std::enable_shared_from_this<BufferAllocator> {
 public:
  struct Counts {
    std::uint64_t allocated_bytes = 0;  ///< of each NodeMemory that holds a buffer or a region
    std::uint64_t cached_bytes = 0;     ///< prefaulted bytes of the cache
    std::uint64_t created_count = 0;    ///< number of NodeMemory objects created
  };

  /// Keeps at most `cached_bytes_max` of freed memory.
  static std::shared_ptr<BufferAllocator> make(std::uint64_t cached_bytes_max);
  ~BufferAllocator();
  BufferAllocator(const BufferAllocator&) = delete;
  BufferAllocator& operator=(const BufferAllocator&) = delete;

  /// As Runtime::allocate().
  Result<Buffer> allocate(std::uint64_t size_bytes, MemoryKind kind);

  /// Returns at least `size_bytes` (a multiple of 4 KiB), at most an eighth more: freed memory,
  /// else new memory named `label`, without pages yet. Fails as NodeMemory::create() does.
  Result<MemoryRegion> acquire(const char* label, std::uint64_t size_bytes);
  /// Releases memory of acquire(). Memory with prefaulted pages is cached for later acquire()
  /// calls, and for allocate() if all of it is prefaulted.
  void release(MemoryRegion region) noexcept;

  /// Releases the cache. From now on, freed memory is released at once.
  void disable_cache() noexcept;

  Counts counts() const;

 private:
  friend struct BufferAllocation;
  struct CachedMemory {
    MemoryKind kind;
    NodeMemory memory;
    std::uint64_t prefaulted_bytes;

    std::uint64_t size_bytes() const noexcept { return memory.bytes().size(); }
    bool is_prefaulted() const noexcept { return prefaulted_bytes == size_bytes(); }
  };
  enum class CacheMatch : std::uint8_t { kPrefaulted, kAny };
  /// Memory that the destructor releases, once the lock is free. Unused in this process, but others
  /// may still map it.
  struct RetiredMemory {
    std::list<CachedMemory> memories = {};
    ~RetiredMemory() {
      for (CachedMemory& cached : memories)
        cached.memory.release_pages();
    }
  };
  using SlabKey = std::pair<MemoryKind, std::uint64_t>;

  using Slabs = std::list<std::shared_ptr<BufferSlab>>;

  explicit BufferAllocator(std::uint64_t cached_bytes_max) noexcept
      : cached_bytes_max_(cached_bytes_max) {}
  Result<BufferBlock> allocate_whole(std::uint64_t size_bytes, MemoryKind kind);
  Result<BufferBlock> allocate_block(std::uint64_t block_bytes, MemoryKind kind);
  std::optional<BufferBlock> find_free_block(const SlabKey& key);
  std::optional<CachedMemory> find_cached(std::uint64_t size_bytes,
                                          MemoryKind kind,
                                          CacheMatch match);
  void release(BufferBlock block) noexcept;
  bool release_block(const BufferBlock& block);
  void add_to_cache(CachedMemory cached, RetiredMemory& retired);
  void evict_beyond(std::uint64_t bytes_max, RetiredMemory& retired);

  mutable std::mutex mutex_;
  std::uint64_t cached_bytes_max_;
  Counts counts_;
  std::list<CachedMemory> cache_;   // newest first
  std::map<SlabKey, Slabs> slabs_;  // those with free blocks
};

/// Location of the bytes of a buffer, for other processes of the node. It must not be empty.
MemoryLocation location_of(const Buffer& buffer);
/// The same for an adopted buffer.
MemoryLocation location_of(const AdoptedBuffer& buffer);

}  // namespace forebay::shm
