// SPDX-License-Identifier: Apache-2.0
// Byte ranges, blocks of global arrays, and units: the words in which an application says *what* it
// wants to read. Plain values without behaviour of their own; the arithmetic on them is checked in
// range_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace forebay {

/// A number of bytes.
using ByteCount = std::uint64_t;

/// "To the end of the file" as the size of an Extent or a ByteRange.
inline constexpr std::uint64_t all = UINT64_MAX;

inline namespace literals {
constexpr std::uint64_t operator""_KiB(unsigned long long value) { return value << 10U; }
constexpr std::uint64_t operator""_MiB(unsigned long long value) { return value << 20U; }
constexpr std::uint64_t operator""_GiB(unsigned long long value) { return value << 30U; }
}  // namespace literals

/// The part of a file that a session reads. What is left out means all there is: {} is the whole
/// file, {.offset = 32} all but its first 32 bytes. Nothing is read only if the size is given as 0.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t size = all;

  friend constexpr bool operator==(const Extent&, const Extent&) noexcept = default;
};

/// A half-open range of bytes of a file: [offset, offset + size). Offsets count from the start of
/// the file.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  /// The first byte after it; the largest number if that (size `all`) is past every file.
  constexpr std::uint64_t end() const noexcept {
    return size > UINT64_MAX - offset ? UINT64_MAX : offset + size;
  }
  constexpr bool empty() const noexcept { return size == 0; }
  /// A range that was worked out says what a session reads as well; an empty one stays empty.
  constexpr operator Extent() const noexcept { return {offset, size}; }
  /// True if every byte of `inner` lies in this range; an empty range lies in every range that
  /// touches its offset.
  constexpr bool contains(const ByteRange& inner) const noexcept {
    return inner.offset >= offset && inner.size <= size &&
           inner.offset - offset <= size - inner.size;
  }
  friend constexpr bool operator==(const ByteRange&, const ByteRange&) noexcept = default;
};

/// The bytes that both ranges share; empty (size 0) if they share none.
constexpr ByteRange intersect(const ByteRange& a, const ByteRange& b) noexcept {
  const std::uint64_t first = a.offset > b.offset ? a.offset : b.offset;
  const std::uint64_t last = a.end() < b.end() ? a.end() : b.end();
  return {first, last > first ? last - first : 0};
}

/// Which index of an array varies fastest in the file.
enum class ArrayOrder : std::uint8_t {
  kC,        ///< the last one (C, C++, NumPy's default)
  kFortran,  ///< the first one
};

/// A block of a global array that lies in a file in C or Fortran order: elements start[d] ..
/// start[d]+count[d]-1 of shape[d] in each dimension d. `shape`, `start` and `count` have the same
/// length. The block's elements arrive in the order in which they lie in the file, without gaps.
struct Subarray {
  std::vector<std::uint64_t> shape = {};
  std::vector<std::uint64_t> start = {};
  std::vector<std::uint64_t> count = {};
  std::size_t element_bytes = 1;
  ArrayOrder order = ArrayOrder::kC;
  /// Where the array begins in the file; if absent, where the session begins.
  std::optional<std::uint64_t> array_offset = std::nullopt;

  friend bool operator==(const Subarray&, const Subarray&) = default;
};

}  // namespace forebay
