// SPDX-License-Identifier: Apache-2.0
// Where the Buffers of a Runtime come from. Fresh memory costs more than what is done with it, so
// what was freed is kept, within a bound, for the next who asks for as much. Each large buffer is a
// memory of its own; small ones share memories of 2 MiB, so that they do not use up descriptors.
#pragma once

#include <forebay/buffer.hpp>
#include <forebay/error.hpp>
#include <forebay/origin_process.hpp>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "shm/memory_name.hpp"
#include "shm/node_memory.hpp"

namespace forebay::shm {

/// A memory that is shared out in blocks of one size.
struct BufferSlab {
  NodeMemory memory;
  MemoryKind kind = MemoryKind::kHost;
  std::uint64_t block_bytes = 0;
  std::vector<std::uint32_t> free = {};  ///< numbers of blocks
};

/// What lies behind one Buffer: a memory of its own, or a block of a slab.
struct BufferBlock {
  MemoryKind kind = MemoryKind::kHost;
  NodeMemory whole = {};
  std::shared_ptr<BufferSlab> slab = nullptr;
  std::uint64_t offset_bytes = 0;  ///< in the slab

  const NodeMemory& memory() const noexcept { return slab ? slab->memory : whole; }
  std::byte* data() const noexcept { return memory().bytes().data() + offset_bytes; }
};

/// A whole memory for who cuts it up itself.
struct MemoryLoan {
  NodeMemory memory;
  std::uint64_t ready_bytes = 0;  ///< so many from its start are faulted in
};

class BufferSource;

/// What a Buffer holds: a block, and whom it goes back to at the end.
struct BufferLease {
  const detail::OriginProcess origin;
  std::shared_ptr<BufferSource> source;
  BufferBlock block;

  BufferLease(std::shared_ptr<BufferSource> from, BufferBlock taken) noexcept
      : source(std::move(from)), block(std::move(taken)) {}
  BufferLease(const BufferLease&) = delete;
  BufferLease& operator=(const BufferLease&) = delete;
  ~BufferLease();

  /// `size_bytes` of `lease`; none if it is null.
  static Buffer lend(std::unique_ptr<BufferLease> lease, std::uint64_t size_bytes, MemoryKind kind);
  static MemoryPlace place_of(const Buffer& buffer);
};

/// All calls from any thread. Lives as long as the last of its buffers.
class BufferSource : public std::enable_shared_from_this<BufferSource> {
 public:
  struct Counts {
    std::uint64_t lent_bytes = 0;    ///< of memories with a buffer in them
    std::uint64_t cached_bytes = 0;  ///< ready ones of memories that wait for the next
    std::uint64_t made_count = 0;    ///< memories that had to be made
  };

  /// Keeps at most `cached_bytes_max` of freed memory.
  static std::shared_ptr<BufferSource> make(std::uint64_t cached_bytes_max);
  ~BufferSource();
  BufferSource(const BufferSource&) = delete;
  BufferSource& operator=(const BufferSource&) = delete;

  /// As Runtime::allocate().
  Result<Buffer> allocate(std::uint64_t size_bytes, MemoryKind kind);

  /// At least `size_bytes` (a multiple of 4 KiB), an eighth more at most: what was freed, else new
  /// memory under `label`, none of which is taken yet. Fails as NodeMemory::create() does.
  Result<MemoryLoan> borrow(const char* label, std::uint64_t size_bytes);
  /// The end of a loan. Kept for the next loan if some of it is ready, for buffers if all of it is.
  void give_back(MemoryLoan loan) noexcept;

  /// From now on freed memory goes at once; what waits goes now.
  void keep_nothing() noexcept;

  Counts counts() const;

 private:
  friend struct BufferLease;
  struct Kept {
    MemoryKind kind;
    NodeMemory memory;
    std::uint64_t ready_bytes;

    std::uint64_t size_bytes() const noexcept { return memory.bytes().size(); }
    bool is_ready() const noexcept { return ready_bytes == size_bytes(); }
  };
  enum class Wanted : std::uint8_t { kReady, kAny };
  /// What goes, after the lock: nobody has any of it, but other processes may still map it.
  struct Gone {
    std::list<Kept> memories = {};
    ~Gone() {
      for (Kept& kept : memories)
        kept.memory.give_back();
    }
  };
  using SlabKey = std::pair<MemoryKind, std::uint64_t>;

  using Slabs = std::list<std::shared_ptr<BufferSlab>>;

  explicit BufferSource(std::uint64_t cached_bytes_max) noexcept
      : cached_bytes_max_(cached_bytes_max) {}
  Result<BufferBlock> take_whole(std::uint64_t size_bytes, MemoryKind kind);
  Result<BufferBlock> take_part(std::uint64_t block_bytes, MemoryKind kind);
  std::optional<BufferBlock> find_part(const SlabKey& key);
  std::optional<Kept> find_kept(std::uint64_t size_bytes, MemoryKind kind, Wanted wanted);
  void give_back(BufferBlock block) noexcept;
  bool give_back_part(const BufferBlock& block);
  void keep(Kept kept, Gone& gone);
  void drop_beyond(std::uint64_t bytes_max, Gone& gone);

  mutable std::mutex mutex_;
  std::uint64_t cached_bytes_max_;
  Counts counts_;
  std::list<Kept> kept_;            // newest first
  std::map<SlabKey, Slabs> slabs_;  // those with room
};

/// Where the bytes of a buffer are, for other processes of the node. It must not be empty.
MemoryPlace place_of(const Buffer& buffer);
/// The same for an adopted one.
MemoryPlace place_of(const AdoptedBuffer& buffer);

}  // namespace forebay::shm
