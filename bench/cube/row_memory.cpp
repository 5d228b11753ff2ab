// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/row_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "storage/index_stack.hpp"

namespace forebay::bench::cube {

namespace {

constexpr std::size_t kCacheLineBytes = 64;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

class Fresh final : public RowMemory {
 public:
  std::byte* acquire(std::uint64_t bytes) override { return new std::byte[bytes](); }
  void release(std::byte* row) noexcept override { delete[] row; }
};

std::byte* aligned(std::size_t alignment, std::uint64_t bytes) {
  void* const memory = std::aligned_alloc(alignment, round_up(bytes, alignment));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

class Aligned final : public RowMemory {
 public:
  std::byte* acquire(std::uint64_t bytes) override {
    std::byte* const row = aligned(kCacheLineBytes, bytes);
    std::memset(row, 0, bytes);
    return row;
  }
  void release(std::byte* row) noexcept override { std::free(row); }
};

/// Prefaulted. Free rows are in a Treiber stack, so that any thread that completes a write releases
/// the row without a lock.
class Pool final : public RowMemory {
 public:
  explicit Pool(std::uint64_t row_bytes_max)
      : stride_(round_up(row_bytes_max, kCacheLineBytes)),
        memory_(aligned(kHugePageBytes, stride_ * kPoolRows), &std::free) {
    std::memset(memory_.get(), 0, stride_ * kPoolRows);
  }

  std::byte* acquire(std::uint64_t /*bytes*/) override {
    const auto index = free_.pop();
    return index ? memory_.get() + *index * stride_ : nullptr;
  }
  void release(std::byte* row) noexcept override {
    free_.push(
        static_cast<std::uint32_t>(static_cast<std::uint64_t>(row - memory_.get()) / stride_));
  }

 private:
  const std::uint64_t stride_;
  const std::unique_ptr<std::byte, decltype(&std::free)> memory_;
  storage::IndexStack free_{kPoolRows};
};

}  // namespace

std::unique_ptr<RowMemory> make_row_memory(RowAllocation memory, std::uint64_t row_bytes_max) {
  switch (memory) {
    case RowAllocation::kFresh:
      return std::make_unique<Fresh>();
    case RowAllocation::kAligned:
      return std::make_unique<Aligned>();
    case RowAllocation::kPool:
      break;
  }
  return std::make_unique<Pool>(row_bytes_max);
}

}  // namespace forebay::bench::cube
