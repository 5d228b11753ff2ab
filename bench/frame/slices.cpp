// SPDX-License-Identifier: Apache-2.0
#include "bench/frame/slices.hpp"

#include <cstring>
#include <new>

namespace forebay::bench {

TouchedMemory::TouchedMemory(std::uint64_t size_bytes)
    : base_(::mmap(nullptr,
                   size_bytes,
                   PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                   -1,
                   0)),
      size_bytes_(size_bytes) {
  if (base_ == MAP_FAILED) throw std::bad_alloc();
}

Status touch(std::span<const std::byte> bytes, std::uint64_t offset_bytes) {
  constexpr std::size_t kLine = 64;
  std::uint64_t difference = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kLine) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    difference |= word ^ (offset_bytes + at);
  }
  if (difference == 0) return {};
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "check what was read",
                  .offset_bytes = offset_bytes,
                  .cause = "a word is not its own offset"});
}

}  // namespace forebay::bench
