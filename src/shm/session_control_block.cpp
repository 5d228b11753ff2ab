// SPDX-License-Identifier: Apache-2.0
#include "shm/session_control_block.hpp"

#include <new>

#include "base/assert.hpp"

namespace forebay::shm {

namespace {

constexpr std::size_t align_up(std::size_t value) {
  return (value + SessionControlBlock::kAlignment - 1) / SessionControlBlock::kAlignment *
         SessionControlBlock::kAlignment;
}

bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % SessionControlBlock::kAlignment == 0;
}

}  // namespace

static_assert(alignof(TableHeader) == SessionControlBlock::kAlignment);
static_assert(std::atomic<MemoryWait>::is_always_lock_free);

SessionControlBlock::Offsets SessionControlBlock::offsets_of(
    const ControlBlockShape& shape) noexcept {
  Offsets offsets;
  offsets.splinters = align_up(sizeof(TableHeader));
  offsets.served_baseline =
      align_up(offsets.splinters + std::size_t{shape.splinters} * sizeof(ResidencyEntry));
  offsets.table_bytes = align_up(offsets.served_baseline +
                                 std::size_t{shape.slots_max} * sizeof(std::atomic<std::uint64_t>));
  return offsets;
}

void SessionControlBlock::bind_memory(const ControlBlockShape& shape,
                                      std::span<std::byte> table,
                                      std::span<std::byte> ref_count_memory) noexcept {
  const Offsets offsets = offsets_of(shape);
  // No constructors run: zeros are a valid state of these types, and the memory may be in use.
  header_ = std::launder(reinterpret_cast<TableHeader*>(table.data()));
  splinters_ = std::launder(reinterpret_cast<ResidencyEntry*>(table.data() + offsets.splinters));
  served_baseline_ = std::launder(
      reinterpret_cast<std::atomic<std::uint64_t>*>(table.data() + offsets.served_baseline));
  const std::size_t counts = RefCounts::entry_count(shape.clients, shape.slots_max);
  ref_counts_ =
      RefCounts({std::launder(reinterpret_cast<SlotRefCount*>(ref_count_memory.data())), counts},
                shape.clients, shape.slots_max);
}

SessionControlBlock SessionControlBlock::create(const ControlBlockShape& shape,
                                                std::span<std::byte> table,
                                                std::span<std::byte> ref_count_memory) noexcept {
  FOREBAY_ASSERT(table.size() >= table_bytes(shape));
  FOREBAY_ASSERT(ref_count_memory.size() >= ref_count_bytes(shape));
  FOREBAY_ASSERT(is_aligned(table.data()));
  FOREBAY_ASSERT(is_aligned(ref_count_memory.data()));
  SessionControlBlock block;
  block.bind_memory(shape, table, ref_count_memory);
  block.header_->magic = kMagic;
  block.header_->version = kVersion;
  block.header_->shape = shape;
  return block;
}

bool SessionControlBlock::attach(std::span<std::byte> table,
                                 std::span<std::byte> ref_count_memory) noexcept {
  if (table.size() < sizeof(TableHeader) || !is_aligned(table.data())) return false;
  if (!is_aligned(ref_count_memory.data())) return false;
  const auto& header = *std::launder(reinterpret_cast<const TableHeader*>(table.data()));
  if (header.magic != kMagic || header.version != kVersion) return false;
  const ControlBlockShape shape = header.shape;
  // By division: the product of two such numbers may overflow.
  const std::size_t row_entries = RefCounts::entry_count(1, shape.slots_max);
  if (shape.clients == 0 ||
      row_entries > ref_count_memory.size() / sizeof(SlotRefCount) / shape.clients)
    return false;
  if (table.size() < table_bytes(shape) || ref_count_memory.size() < ref_count_bytes(shape))
    return false;
  bind_memory(shape, table, ref_count_memory);
  return true;
}

}  // namespace forebay::shm
