// SPDX-License-Identifier: Apache-2.0
// Byte ranges, blocks of global arrays, and units: what an application reads. Plain values.
// range_test.cpp tests their arithmetic.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace forebay {

/// A number of bytes.
using ByteCount = std::uint64_t;

/// "To the end", as the size of an Extent. As the size of a ByteRange only where that is clipped:
/// in Session::prefetch() and by input streams.
inline constexpr std::uint64_t kAll = UINT64_MAX;

inline namespace literals {
constexpr std::uint64_t operator""_KiB(unsigned long long value) { return value << 10U; }
constexpr std::uint64_t operator""_MiB(unsigned long long value) { return value << 20U; }
constexpr std::uint64_t operator""_GiB(unsigned long long value) { return value << 30U; }
}  // namespace literals

/// Parses a size in bytes: "4096", "64KiB", "64 MiB", "2GiB", "1TiB" (powers of 1024), or "64kB",
/// "64MB", "2GB", "1TB" (powers of 1000). Case is ignored. Fails with kInvalidArgument.
FOREBAY_EXPORT Result<std::uint64_t> parse_size(std::string_view text);

namespace detail {
/// The type of a string literal.
template <class R, class Value = std::remove_cv_t<std::remove_extent_t<std::remove_reference_t<R>>>>
concept StringLiteral =
    std::is_array_v<std::remove_reference_t<R>> &&
    std::is_const_v<std::remove_extent_t<std::remove_reference_t<R>>> &&
    (std::same_as<Value, char> || std::same_as<Value, wchar_t> || std::same_as<Value, char8_t> ||
     std::same_as<Value, char16_t> || std::same_as<Value, char32_t>);
}  // namespace detail

/// Contiguous memory whose values can be copied as bytes: a vector, a std::array, a std::span, a C
/// array. Neither a string literal, because of its terminating zero, nor a range of pointers, spans
/// or string views.
template <class R>
concept ReadableRange =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<R>> &&
    !std::is_pointer_v<std::ranges::range_value_t<R>> &&
    !std::ranges::view<std::ranges::range_value_t<R>> && !detail::StringLiteral<R>;

/// Such memory that a request may fill. A temporary vector or array is not one: the request
/// outlives the call.
template <class R>
concept WritableRange =
    ReadableRange<R> && std::ranges::borrowed_range<R> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// The bytes of a range.
template <class R>
  requires WritableRange<R&>
std::span<std::byte> writable_bytes(R& range) noexcept {
  return std::as_writable_bytes(std::span(range));
}

/// The part of a file that a session reads. The defaults cover everything: {} is the whole file,
/// {.offset = 32} all but its first 32 bytes. Only a size of 0 reads nothing.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t size = kAll;

  friend constexpr bool operator==(const Extent&, const Extent&) noexcept = default;
};

/// A half-open range of bytes of a file: [offset, offset + size). Offsets count from the start of
/// the file.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  /// The first byte after the range. UINT64_MAX if that is past every possible file (size `kAll`).
  constexpr std::uint64_t end() const noexcept {
    return size > UINT64_MAX - offset ? UINT64_MAX : offset + size;
  }
  constexpr bool empty() const noexcept { return size == 0; }
  /// A computed range serves as an Extent; an empty range stays empty.
  constexpr operator Extent() const noexcept { return {offset, size}; }
  /// True if every byte of `inner` lies in this range. An empty range lies in every range that
  /// touches its offset.
  constexpr bool contains(const ByteRange& inner) const noexcept {
    return inner.offset >= offset && inner.size <= size &&
           inner.offset - offset <= size - inner.size;
  }
  friend constexpr bool operator==(const ByteRange&, const ByteRange&) noexcept = default;
};

/// The bytes that both ranges share. Size 0 if they share none.
constexpr ByteRange intersect(const ByteRange& a, const ByteRange& b) noexcept {
  const std::uint64_t first = a.offset > b.offset ? a.offset : b.offset;
  const std::uint64_t last = a.end() < b.end() ? a.end() : b.end();
  return {first, last > first ? last - first : 0};
}

/// The index of an array that varies fastest in the file.
enum class ArrayOrder : std::uint8_t {
  kC,        ///< the last one (C, C++, NumPy's default)
  kFortran,  ///< the first one
};

/// A block of a global array that is stored in C or Fortran order: elements start[d] ..
/// start[d]+count[d]-1 of shape[d] in each dimension d. `shape`, `start` and `count` have the same
/// length. The elements of the block arrive in file order, without gaps.
struct Subarray {
  std::vector<std::uint64_t> shape = {};
  std::vector<std::uint64_t> start = {};
  std::vector<std::uint64_t> count = {};
  std::size_t element_bytes = 1;
  ArrayOrder order = ArrayOrder::kC;
  /// Offset of the array in the file; if absent, the start of the session's extent.
  std::optional<std::uint64_t> array_offset = std::nullopt;

  friend bool operator==(const Subarray&, const Subarray&) = default;
};

}  // namespace forebay
