// SPDX-License-Identifier: Apache-2.0
#include "write/hashed_copy.hpp"

#include <algorithm>
#include <cstring>

#include <xxhash.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/assert.hpp"

namespace forebay::write {

namespace {

/// Bytes that are hashed, then copied. They fit a small L2 cache, so the copy reads them from
/// there.
constexpr std::size_t kCacheBytes = std::size_t{256} << 10U;

#ifdef __SSE2__
/// Shorter copies go through the caches, because they evict little.
constexpr std::size_t kNontemporalBytesMin = std::size_t{4} << 10U;
constexpr std::size_t kLineBytes = 64;
/// Distance ahead of the copy at which lines are prefetched. Nontemporal stores do not block, so
/// only loads do. A prefetch of unmapped memory has no effect, so prefetching past the end is safe.
constexpr std::size_t kPrefetchBytes = 1024;

/// Copies whole lines; `to` must be at the beginning of one.
void copy_lines(std::byte* to, const std::byte* from, std::size_t lines) noexcept {
  for (; lines > 0; --lines, to += kLineBytes, from += kLineBytes) {
    const auto* const source = reinterpret_cast<const __m128i*>(from);
    auto* const target = reinterpret_cast<__m128i*>(to);
    _mm_prefetch(from + kPrefetchBytes, _MM_HINT_NTA);
    const __m128i first = _mm_loadu_si128(source);
    const __m128i second = _mm_loadu_si128(source + 1);
    const __m128i third = _mm_loadu_si128(source + 2);
    const __m128i fourth = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, first);
    _mm_stream_si128(target + 1, second);
    _mm_stream_si128(target + 2, third);
    _mm_stream_si128(target + 3, fourth);
  }
}

/// Nontemporal stores are not ordered with others. A thread that is notified afterwards must see
/// the bytes.
void order_stores() noexcept { _mm_sfence(); }

/// Copies the beginning of `from`, so that the copy ends at the end of a cache line of `to`. Copies
/// nothing if `from` is short. Returns the number of bytes copied.
std::size_t copy_lines_aligned(std::byte* to, std::span<const std::byte> from) noexcept {
  if (from.size() < kNontemporalBytesMin) return 0;
  const std::size_t over = reinterpret_cast<std::uintptr_t>(to) % kLineBytes;
  const std::size_t before = over == 0 ? 0 : kLineBytes - over;
  std::memcpy(to, from.data(), before);
  const std::size_t lines = (from.size() - before) / kLineBytes;
  copy_lines(to + before, from.data() + before, lines);
  return before + lines * kLineBytes;
}
#else
std::size_t copy_lines_aligned(std::byte* /*to*/, std::span<const std::byte> /*from*/) noexcept {
  return 0;
}

void order_stores() noexcept {}
#endif

void hash(XXH3_state_t* state, std::span<const std::byte> bytes) noexcept {
  const XXH_errorcode code = ::XXH3_64bits_update(state, bytes.data(), bytes.size());
  FOREBAY_ASSERT(code == XXH_OK);
}

}  // namespace

void copy_unordered(std::span<std::byte> to, std::span<const std::byte> from) noexcept {
  FOREBAY_ASSERT(to.size() >= from.size());
  const std::size_t done = copy_lines_aligned(to.data(), from);
  const std::span<const std::byte> rest = from.subspan(done);
  if (!rest.empty()) std::memcpy(to.data() + done, rest.data(), rest.size());
}

void order_copies() noexcept { order_stores(); }

void copy_nontemporal(std::span<std::byte> to, std::span<const std::byte> from) noexcept {
  copy_unordered(to, from);
  order_copies();
}

void HashedCopy::Free::operator()(XXH3_state_s* state) const noexcept { ::XXH3_freeState(state); }

std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

HashedCopy::HashedCopy(std::uint64_t seed) : state_(::XXH3_createState()) {
  FOREBAY_ASSERT(state_ != nullptr);
  reset(seed);
}

void HashedCopy::reset(std::uint64_t seed) noexcept {
  const XXH_errorcode code = ::XXH3_64bits_reset_withSeed(state_.get(), seed);
  FOREBAY_ASSERT(code == XXH_OK);
  size_bytes_ = 0;
}

void HashedCopy::add(std::span<std::byte> to, std::span<const std::byte> from) noexcept {
  FOREBAY_ASSERT(to.size() >= from.size());
  size_bytes_ += from.size();
  while (!from.empty()) {
    const std::size_t size_bytes = std::min(kCacheBytes, from.size());
    hash(state_.get(), from.first(size_bytes));
    copy_unordered(to, from.first(size_bytes));
    to = to.subspan(size_bytes);
    from = from.subspan(size_bytes);
  }
}

void HashedCopy::add(std::span<const std::byte> bytes) noexcept {
  size_bytes_ += bytes.size();
  if (!bytes.empty()) hash(state_.get(), bytes);
}

std::uint64_t HashedCopy::digest() const noexcept {
  order_copies();
  return ::XXH3_64bits_digest(state_.get());
}

HashedCopy& hashed_copy_of_thread(std::uint64_t seed) noexcept {
  thread_local HashedCopy copy(seed);
  copy.reset(seed);
  return copy;
}

std::uint64_t hashed_copy(std::span<std::byte> to,
                          std::span<const std::byte> from,
                          std::uint64_t seed) noexcept {
  HashedCopy& copy = hashed_copy_of_thread(seed);
  copy.add(to, from);
  return copy.digest();
}

}  // namespace forebay::write
