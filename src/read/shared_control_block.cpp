// SPDX-License-Identifier: Apache-2.0
#include "read/shared_control_block.hpp"

#include <utility>

namespace forebay::read {

Result<ControlBlockMemory> create_shared_control_block(const shm::ControlBlockShape& shape,
                                                       std::shared_ptr<SharedControlBlock>& kept) {
  auto table =
      shm::SharedMemory::create("forebay-table", shm::SessionControlBlock::table_bytes(shape));
  if (!table) return failure(table.error());
  auto ref_counts = shm::SharedMemory::create("forebay-refcounts",
                                              shm::SessionControlBlock::ref_count_bytes(shape));
  if (!ref_counts) return failure(ref_counts.error());
  auto memory = std::make_shared<SharedControlBlock>(
      SharedControlBlock{std::move(*table), std::move(*ref_counts)});
  kept = memory;
  const auto control_block =
      shm::SessionControlBlock::create(shape, memory->table.bytes(), memory->ref_counts.bytes());
  return ControlBlockMemory{std::move(memory), control_block};
}

}  // namespace forebay::read
