// SPDX-License-Identifier: Apache-2.0
// The Treiber stack. All atomics are sequentially consistent: BufferPool's sleepers rely on it, and
// it costs nothing measurable beside the transfers.
#include "storage/index_stack.hpp"

#include "base/assert.hpp"

namespace forebay::storage {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

struct Head {
  std::uint32_t index;
  std::uint32_t version;
};

Head unpack(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32U)};
}

std::uint64_t pack(Head head) noexcept {
  return (static_cast<std::uint64_t>(head.version) << 32U) | head.index;
}

}  // namespace

IndexStack::IndexStack(std::uint32_t capacity)
    : capacity_(capacity),
      next_(std::make_unique<std::atomic<std::uint32_t>[]>(capacity)),
      head_(pack({capacity > 0 ? 0 : kNone, 0})) {
  FOREBAY_ASSERT(capacity < kNone);
  for (std::uint32_t i = 0; i < capacity; ++i) {
    next_[i].store(i + 1 < capacity ? i + 1 : kNone);
  }
}

std::optional<std::uint32_t> IndexStack::pop() noexcept {
  std::uint64_t word = head_.load();
  for (;;) {
    const Head head = unpack(word);
    if (head.index == kNone) return std::nullopt;
    // May be stale when another thread popped this index meanwhile; then the version differs and
    // the exchange fails.
    const std::uint32_t next = next_[head.index].load();
    if (head_.compare_exchange_weak(word, pack({next, head.version + 1}))) return head.index;
  }
}

void IndexStack::push(std::uint32_t index) noexcept {
  FOREBAY_ASSERT(index < capacity_);
  std::uint64_t word = head_.load();
  for (;;) {
    const Head head = unpack(word);
    next_[index].store(head.index);
    if (head_.compare_exchange_weak(word, pack({index, head.version + 1}))) return;
  }
}

}  // namespace forebay::storage
