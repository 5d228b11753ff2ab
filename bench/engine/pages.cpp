// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/pages.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/mman.h>

namespace forebay::bench::engine {

namespace {

Status advise(std::span<std::byte> memory, int advice) {
  if (::madvise(memory.data(), memory.size(), advice) == 0) return {};
  return failure(system_error({.operation = "release memory"}, errno));
}

}  // namespace

Status discard_pages(std::span<std::byte> memory) {
  // Fails on kernels without huge pages, which is harmless.
  ::madvise(memory.data(), memory.size(), MADV_NOHUGEPAGE);
  return advise(memory, MADV_DONTNEED);
}

Status split_huge_pages(std::span<std::byte> memory) {
  if (auto discarded = discard_pages(memory); !discarded) return discarded;
  std::ranges::fill(memory, std::byte{0});
  return {};
}

}  // namespace forebay::bench::engine
