// SPDX-License-Identifier: Apache-2.0
#include "shm/session_control_block.hpp"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::shm {
namespace {

struct alignas(SessionControlBlock::kAlignment) AlignedBlock {
  std::array<std::byte, SessionControlBlock::kAlignment> bytes{};
};

/// Memory of a control block, as two processes would map it.
struct Memory {
  explicit Memory(const ControlBlockShape& shape)
      : table_blocks(SessionControlBlock::table_bytes(shape) / sizeof(AlignedBlock)),
        ref_count_blocks(SessionControlBlock::ref_count_bytes(shape) / sizeof(AlignedBlock)) {}
  std::span<std::byte> table() { return std::as_writable_bytes(std::span(table_blocks)); }
  std::span<std::byte> ref_count_memory() {
    return std::as_writable_bytes(std::span(ref_count_blocks));
  }

  std::vector<AlignedBlock> table_blocks;
  std::vector<AlignedBlock> ref_count_blocks;
};

constexpr ControlBlockShape kShape{.splinters = 1000, .slots_max = 17, .clients = 3};

TEST(SessionControlBlock, attached_side_sees_writes_of_the_other) {
  Memory memory(kShape);
  const SessionControlBlock writer =
      SessionControlBlock::create(kShape, memory.table(), memory.ref_count_memory());
  SessionControlBlock reader;
  ASSERT_TRUE(reader.attach(memory.table(), memory.ref_count_memory()));
  EXPECT_EQ(reader.header().shape, kShape);
  EXPECT_EQ(reader.splinters().size(), 1000U);
  writer[999].set_slot(16);
  writer[999].set_residency(Residency::kReady);
  ASSERT_EQ(reader.ref_counts().pin(reader[999], 2), RefCounts::PinResult::kPinned);
  EXPECT_EQ(writer.ref_counts().pins(16), 1U);
}

TEST(SessionControlBlock, parts_do_not_overlap) {
  Memory memory(kShape);
  const SessionControlBlock block =
      SessionControlBlock::create(kShape, memory.table(), memory.ref_count_memory());
  for (std::uint32_t slot = 0; slot < kShape.slots_max; ++slot) {
    for (std::uint32_t client = 0; client < kShape.clients; ++client) {
      ASSERT_TRUE(block.ref_counts().at(client, slot).add_pin());
      block.ref_counts().at(client, slot).remove_pin(slot + 1);
    }
    EXPECT_EQ(block.reset_served_bytes(slot), 3 * (slot + 1));
    EXPECT_EQ(block.served_bytes(slot), 0U);
  }
  for (const ResidencyEntry& splinter : block.splinters())
    ASSERT_EQ(splinter.load().bits, 0U);
  for (std::uint32_t i = 0; i < kShape.splinters; ++i)
    block[i].set_slot(UINT32_MAX);
  EXPECT_EQ(block.header().slots, 0U);
  EXPECT_EQ(block.served_bytes(0), 0U);
}

TEST(SessionControlBlock, invalid_memory_is_refused) {
  Memory memory(kShape);
  SessionControlBlock reader;
  EXPECT_FALSE(reader.attach(memory.table(), memory.ref_count_memory()))
      << "no control block was created";
  static_cast<void>(SessionControlBlock::create(kShape, memory.table(), memory.ref_count_memory()));
  const auto refuses = [&](auto change) {
    Memory copy(kShape);
    std::memcpy(copy.table().data(), memory.table().data(), memory.table().size());
    SessionControlBlock other;
    EXPECT_TRUE(other.attach(copy.table(), copy.ref_count_memory()));
    change(other.header());
    return !SessionControlBlock().attach(copy.table(), copy.ref_count_memory());
  };
  EXPECT_TRUE(refuses([](TableHeader& header) { header.magic ^= 1U; }));
  EXPECT_TRUE(refuses([](TableHeader& header) { ++header.version; }));
  EXPECT_TRUE(refuses([](TableHeader& header) { header.shape.splinters += 8; }));
  EXPECT_TRUE(refuses([](TableHeader& header) { header.shape.slots_max += 16; }));
  EXPECT_TRUE(refuses([](TableHeader& header) { ++header.shape.clients; }));
  EXPECT_FALSE(reader.attach(memory.table().first(64), memory.ref_count_memory()));
  EXPECT_FALSE(reader.attach(memory.table(), memory.ref_count_memory().first(128)));
}

}  // namespace
}  // namespace forebay::shm
