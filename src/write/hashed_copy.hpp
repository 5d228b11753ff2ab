// SPDX-License-Identifier: Apache-2.0
// Copies that hash. A copy is bound by memory bandwidth, so hashing bytes that a core has just
// loaded into its cache costs less than reading them again. The hash is XXH3 with 64 bits and a
// seed, as in the dataset format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace forebay::write {

/// Copies `from` to the beginning of `to`, which must be at least as long and must not overlap it.
/// Its stores bypass the caches: staged bytes are read much later, by a device or by the agent that
/// hashes them. Up to twice as fast as memcpy() through the cache.
void copy_nontemporal(std::span<std::byte> to, std::span<const std::byte> from) noexcept;

/// As copy_nontemporal(), for one of many short copies: other threads may see the bytes only after
/// order_copies(), which costs as much as a copy of a few KiB.
void copy_unordered(std::span<std::byte> to, std::span<const std::byte> from) noexcept;
void order_copies() noexcept;

/// As copy_nontemporal(); returns the hash of the copied bytes.
std::uint64_t hashed_copy(std::span<std::byte> to,
                          std::span<const std::byte> from,
                          std::uint64_t seed) noexcept;

/// Returns the hash of bytes without a copy.
std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t seed) noexcept;

/// Copies and hashes a piece that consists of several spans. Not thread-safe.
class HashedCopy {
 public:
  explicit HashedCopy(std::uint64_t seed);

  /// Copies as copy_unordered() does; digest() orders. The hash covers all bytes added since the
  /// last reset().
  void add(std::span<std::byte> to, std::span<const std::byte> from) noexcept;
  /// Hashes bytes without a copy.
  void add(std::span<const std::byte> bytes) noexcept;

  /// Hash of the bytes added so far; more may be added. Other threads may see the copies then.
  std::uint64_t digest() const noexcept;
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }

  /// Begins another piece.
  void reset(std::uint64_t seed) noexcept;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const noexcept;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
  std::uint64_t size_bytes_ = 0;
};

/// The one of this thread, reset for a piece that is complete before the thread begins another.
HashedCopy& hashed_copy_of_thread(std::uint64_t seed) noexcept;

}  // namespace forebay::write
