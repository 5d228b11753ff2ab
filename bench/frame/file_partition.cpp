// SPDX-License-Identifier: Apache-2.0
#include "bench/frame/file_partition.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include <sys/mman.h>

namespace forebay::bench {

namespace {

constexpr std::uint64_t kHugePageBytes = 2ULL << 20U;
constexpr std::uint64_t kSmallPageBytes = 4096;

/// Address space that begins at a huge page boundary; empty, with errno set, if there is none left.
std::span<std::byte> map_at_huge_page(std::uint64_t size_bytes) {
  const std::uint64_t pages_bytes =
      (size_bytes + kSmallPageBytes - 1) / kSmallPageBytes * kSmallPageBytes;
  const std::uint64_t mapped_bytes = pages_bytes + kHugePageBytes;
  void* const mapping =
      ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return {};
  auto* const first = static_cast<std::byte*>(mapping);
  const std::uint64_t into_page = reinterpret_cast<std::uintptr_t>(mapping) % kHugePageBytes;
  const std::uint64_t before = into_page == 0 ? 0 : kHugePageBytes - into_page;
  const std::uint64_t after = mapped_bytes - before - pages_bytes;
  if (before > 0) ::munmap(first, before);
  if (after > 0) ::munmap(first + before + pages_bytes, after);
  return {first + before, size_bytes};
}

}  // namespace

Result<PrefaultedMemory> PrefaultedMemory::make(std::uint64_t size_bytes) {
  const ErrorDetails where{.operation = "allocate memory for a benchmark",
                           .cause = std::to_string(size_bytes) + " bytes were requested"};
  if (size_bytes > PTRDIFF_MAX / 2) return failure(system_error(where, ENOMEM));
  PrefaultedMemory memory(map_at_huge_page(size_bytes));
  if (memory.bytes_.empty()) return failure(system_error(where, errno));
  ::madvise(memory.bytes_.data(), size_bytes, MADV_HUGEPAGE);  // best effort
  if (::madvise(memory.bytes_.data(), size_bytes, MADV_POPULATE_WRITE) == 0) return memory;
  if (errno != EINVAL) return failure(system_error(where, errno));
  for (std::uint64_t at = 0; at < size_bytes; at += kSmallPageBytes)
    memory.bytes_[at] = std::byte{0};
  return memory;
}

PrefaultedMemory::~PrefaultedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

PrefaultedMemory::PrefaultedMemory(PrefaultedMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

PrefaultedMemory& PrefaultedMemory::operator=(PrefaultedMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void FilePartition::shuffle() {
  order.resize(task_count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same order in each run
  std::shuffle(order.begin(), order.end(), random);
}

Status verify_words(std::span<const std::byte> bytes, std::uint64_t offset_bytes) {
  constexpr std::size_t kLine = 64;
  std::uint64_t difference = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kLine) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    difference |= word ^ (offset_bytes + at);
  }
  if (difference == 0) return {};
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "verify the bytes read",
                  .offset_bytes = offset_bytes,
                  .cause = "a word does not equal its offset"});
}

}  // namespace forebay::bench
