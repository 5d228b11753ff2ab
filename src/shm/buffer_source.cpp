// SPDX-License-Identifier: Apache-2.0
// Memory is made, pinned and unmapped outside of the lock: that takes as long as it takes.
#include "shm/buffer_source.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"

namespace forebay::shm {

namespace {

/// Slabs, and the grid of larger sizes: one huge page.
constexpr std::uint64_t kSlabBytes = 2U << 20U;
/// Larger ones have a memory of their own.
constexpr std::uint64_t kBlockBytesMax = kSlabBytes / 2;
/// No machine has as much: sums of it do not overflow.
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 47U;
/// Memory that was kept may be larger than what is asked for by this part.
constexpr std::uint64_t kSlackShare = 8;

Status check_request(std::uint64_t size_bytes, MemoryKind kind) {
  if (kind == MemoryKind::kDevice) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "allocate",
                    .cause = "memory of devices is not supported yet: use MemoryKind::kPinned, and "
                             "copy"});
  }
  if (size_bytes <= kBytesMax) return {};
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "allocate",
                  .cause = std::to_string(size_bytes) + " bytes are more than any machine has"});
}

Result<NodeMemory> make_memory(std::uint64_t size_bytes, MemoryKind kind) {
  auto memory = NodeMemory::create("forebay-buffer", size_bytes);
  if (!memory) return memory;
  if (auto taken = memory->prefault({0, size_bytes}); !taken) return failure(taken.error());
  if (kind != MemoryKind::kPinned) return memory;
  if (auto pinned = memory->pin(); !pinned) return failure(pinned.error());
  return memory;
}

}  // namespace

BufferLease::~BufferLease() {
  // The memory is shared with the parent, which still uses it.
  if (origin.is_current()) source->give_back(std::move(block));
}

Buffer BufferLease::lend(std::unique_ptr<BufferLease> lease,
                         std::uint64_t size_bytes,
                         MemoryKind kind) {
  Buffer buffer;
  buffer.kind_ = kind;
  if (!lease) return buffer;
  buffer.data_ = lease->block.data();
  buffer.size_bytes_ = checked_cast<std::size_t>(size_bytes);
  buffer.lease_ = std::move(lease);
  return buffer;
}

MemoryPlace BufferLease::place_of(const Buffer& buffer) {
  FOREBAY_ASSERT(buffer.lease_ != nullptr);
  const BufferBlock& block = buffer.lease_->block;
  return {.memory = block.memory().name(), .offset_bytes = block.offset_bytes};
}

MemoryPlace place_of(const Buffer& buffer) { return BufferLease::place_of(buffer); }

MemoryPlace place_of(const AdoptedBuffer& buffer) { return place_of(buffer.buffer()); }

std::shared_ptr<BufferSource> BufferSource::make(std::uint64_t cached_bytes_max) {
  return std::shared_ptr<BufferSource>(new BufferSource(cached_bytes_max));
}

BufferSource::~BufferSource() { keep_nothing(); }

Result<Buffer> BufferSource::allocate(std::uint64_t size_bytes, MemoryKind kind) {
  if (auto possible = check_request(size_bytes, kind); !possible) return failure(possible.error());
  if (size_bytes == 0) return BufferLease::lend(nullptr, 0, kind);
  auto block = size_bytes > kBlockBytesMax
                   ? take_whole((size_bytes + kSlabBytes - 1) / kSlabBytes * kSlabBytes, kind)
                   : take_part(std::bit_ceil(std::max(size_bytes, kDirectBytes)), kind);
  if (!block) return failure(block.error());
  auto lease = std::make_unique<BufferLease>(shared_from_this(), std::move(*block));
  return BufferLease::lend(std::move(lease), size_bytes, kind);
}

Result<BufferBlock> BufferSource::take_whole(std::uint64_t size_bytes, MemoryKind kind) {
  if (auto kept = find_kept(size_bytes, kind, Wanted::kReady))
    return BufferBlock{.kind = kind, .whole = std::move(kept->memory)};
  auto made = make_memory(size_bytes, kind);
  if (!made) return failure(made.error());
  const std::lock_guard lock(mutex_);
  counts_.lent_bytes += size_bytes;
  ++counts_.made_count;
  return BufferBlock{.kind = kind, .whole = std::move(*made)};
}

Result<BufferBlock> BufferSource::take_part(std::uint64_t block_bytes, MemoryKind kind) {
  const SlabKey key{kind, block_bytes};
  if (auto found = find_part(key)) return std::move(*found);
  auto whole = take_whole(kSlabBytes, kind);
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

std::optional<BufferBlock> BufferSource::find_part(const SlabKey& key) {
  const std::lock_guard lock(mutex_);
  Slabs& slabs = slabs_[key];
  if (slabs.empty()) return std::nullopt;
  std::shared_ptr<BufferSlab> slab = slabs.front();
  const std::uint64_t offset_bytes = slab->free.back() * slab->block_bytes;
  slab->free.pop_back();
  if (slab->free.empty()) slabs.pop_front();
  return BufferBlock{.kind = slab->kind, .slab = std::move(slab), .offset_bytes = offset_bytes};
}

/// The smallest that suits, of these the one of which most is ready, of these the newest.
std::optional<BufferSource::Kept> BufferSource::find_kept(std::uint64_t size_bytes,
                                                          MemoryKind kind,
                                                          Wanted wanted) {
  const std::lock_guard lock(mutex_);
  const auto suits = [&](const Kept& kept) {
    return kept.kind == kind && (wanted == Wanted::kAny || kept.is_ready()) &&
           kept.size_bytes() >= size_bytes &&
           kept.size_bytes() - size_bytes <= size_bytes / kSlackShare;
  };
  const auto is_better = [](const Kept& one, const Kept& other) {
    return one.size_bytes() != other.size_bytes() ? one.size_bytes() < other.size_bytes()
                                                  : one.ready_bytes > other.ready_bytes;
  };
  auto best = kept_.end();
  for (auto at = kept_.begin(); at != kept_.end(); ++at)
    if (suits(*at) && (best == kept_.end() || is_better(*at, *best))) best = at;
  if (best == kept_.end()) return std::nullopt;
  counts_.cached_bytes -= best->ready_bytes;
  counts_.lent_bytes += best->size_bytes();
  Kept found = std::move(*best);
  kept_.erase(best);
  return found;
}

Result<MemoryLoan> BufferSource::borrow(const char* label, std::uint64_t size_bytes) {
  if (auto kept = find_kept(size_bytes, MemoryKind::kHost, Wanted::kAny))
    return MemoryLoan{.memory = std::move(kept->memory), .ready_bytes = kept->ready_bytes};
  auto made = NodeMemory::create(label, size_bytes);
  if (!made) return failure(made.error());
  const std::lock_guard lock(mutex_);
  counts_.lent_bytes += size_bytes;
  ++counts_.made_count;
  return MemoryLoan{.memory = std::move(*made)};
}

void BufferSource::give_back(MemoryLoan loan) noexcept {
  Gone gone;
  const std::lock_guard lock(mutex_);
  Kept kept{
      .kind = MemoryKind::kHost, .memory = std::move(loan.memory), .ready_bytes = loan.ready_bytes};
  if (kept.ready_bytes > 0) return keep(std::move(kept), gone);
  counts_.lent_bytes -= kept.size_bytes();
  gone.memories.push_front(std::move(kept));
}

void BufferSource::give_back(BufferBlock block) noexcept {
  Gone gone;
  const std::lock_guard lock(mutex_);
  if (block.slab && !give_back_part(block)) return;
  NodeMemory& memory = block.slab ? block.slab->memory : block.whole;
  const std::uint64_t size_bytes = memory.bytes().size();
  keep({.kind = block.kind, .memory = std::move(memory), .ready_bytes = size_bytes}, gone);
}

/// True if nothing of the slab is lent any more; it is in no list then.
bool BufferSource::give_back_part(const BufferBlock& block) {
  BufferSlab& slab = *block.slab;
  Slabs& slabs = slabs_[{slab.kind, slab.block_bytes}];
  if (slab.free.empty()) slabs.push_front(block.slab);
  slab.free.push_back(checked_cast<std::uint32_t>(block.offset_bytes / slab.block_bytes));
  if (slab.free.size() < kSlabBytes / slab.block_bytes) return false;
  slabs.remove(block.slab);
  return true;
}

void BufferSource::keep(Kept kept, Gone& gone) {
  counts_.lent_bytes -= kept.size_bytes();
  if (kept.ready_bytes > cached_bytes_max_) {  // else all others would go before it does
    gone.memories.push_front(std::move(kept));
    return;
  }
  counts_.cached_bytes += kept.ready_bytes;
  kept_.push_front(std::move(kept));
  drop_beyond(cached_bytes_max_, gone);
}

/// Takes out the oldest of what is kept, until there is no more than that.
void BufferSource::drop_beyond(std::uint64_t bytes_max, Gone& gone) {
  while (counts_.cached_bytes > bytes_max) {
    counts_.cached_bytes -= kept_.back().ready_bytes;
    gone.memories.splice(gone.memories.begin(), kept_, std::prev(kept_.end()));
  }
}

void BufferSource::keep_nothing() noexcept {
  Gone gone;
  const std::lock_guard lock(mutex_);
  cached_bytes_max_ = 0;
  drop_beyond(0, gone);
}

BufferSource::Counts BufferSource::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace forebay::shm
