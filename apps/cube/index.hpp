// SPDX-License-Identifier: Apache-2.0
// The member N.index: which rows of a metric there are, and the byte order of its numbers. Pure.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cube/byte_order.hpp"

namespace forebay::cube {

inline constexpr std::string_view kIndexMark = "CUBEX.INDEX";
/// Mark, probe, version, format: what a dense index consists of.
inline constexpr std::uint64_t kIndexHeaderBytes = 18;

enum class IndexFormat : std::uint8_t { kSparse = 1, kDense = 3 };
std::string_view name_of(IndexFormat format) noexcept;

/// Numbers of rows, rising. Those of all rows take no memory: a dense index has a few bytes,
/// whatever the size of the call tree.
class RowNumbers {
 public:
  RowNumbers() = default;
  RowNumbers(std::vector<std::uint32_t> listed) : listed_(std::move(listed)) {}
  RowNumbers(std::initializer_list<std::uint32_t> listed) : listed_(listed) {}
  /// 0 to `count` - 1.
  static RowNumbers all(std::uint32_t count) {
    RowNumbers numbers;
    numbers.all_ = count;
    return numbers;
  }

  std::size_t size() const noexcept { return listed_.size() + all_; }
  bool empty() const noexcept { return size() == 0; }
  std::uint32_t operator[](std::size_t place) const {
    return listed_.empty() ? static_cast<std::uint32_t>(place) : listed_[place];
  }
  /// Where `row` is among them; nullopt if it is not.
  std::optional<std::uint64_t> place_of(std::uint32_t row) const;

  friend bool operator==(const RowNumbers&, const RowNumbers&) noexcept = default;

 private:
  std::vector<std::uint32_t> listed_;
  std::uint32_t all_ = 0;  // how many there are if none is listed
};

struct Index {
  IndexFormat format = IndexFormat::kSparse;
  ByteOrder order = ByteOrder::kLittle;
  RowNumbers rows;  ///< of the rows there are; for a dense one all

  friend bool operator==(const Index&, const Index&) noexcept = default;
};

/// Bytes of an index of so many rows.
constexpr std::uint64_t index_bytes(IndexFormat format, std::uint64_t row_count) {
  return kIndexHeaderBytes + (format == IndexFormat::kSparse ? 4 + 4 * row_count : 0);
}

std::vector<std::byte> encode_index(const Index& index);

/// Reads an index of a metric that could have `row_limit` rows. Fails with kDamage as the page
/// says; offsets are from the beginning of `bytes`.
Result<Index> decode_index(std::span<const std::byte> bytes, std::uint32_t row_limit);

}  // namespace forebay::cube
