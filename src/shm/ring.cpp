// SPDX-License-Identifier: Apache-2.0
#include "shm/ring.hpp"

#include <string>

namespace forebay::shm {

Result<RingLayout> map_ring(std::span<std::byte> memory, std::size_t message_bytes) {
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(RingHeader) == 0;
  const std::size_t slots_bytes =
      memory.size() > sizeof(RingHeader) ? memory.size() - sizeof(RingHeader) : 0;
  const std::uint64_t capacity = slots_bytes / message_bytes;
  const bool is_exact = capacity * message_bytes == slots_bytes;
  if (!is_aligned || !is_exact || !std::has_single_bit(capacity) || capacity > kRingCapacityMax) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "attach a ring",
                    .cause = std::to_string(memory.size()) +
                             " bytes are not a ring of messages of " +
                             std::to_string(message_bytes) + " bytes"});
  }
  // No constructor runs: zeros are a valid header, and the other process may already use the ring.
  return RingLayout{.header = reinterpret_cast<RingHeader*>(memory.data()),
                    .slots = memory.data() + sizeof(RingHeader),
                    .capacity = capacity};
}

}  // namespace forebay::shm
