// SPDX-License-Identifier: Apache-2.0
// The member N.index: the rows that a metric has, and the byte order of its numbers. Pure.
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

inline constexpr std::string_view kIndexMagic = "CUBEX.INDEX";
/// Size of a dense index: magic, probe, version, format.
inline constexpr std::uint64_t kIndexHeaderBytes = 18;

enum class IndexFormat : std::uint8_t { kSparse = 1, kDense = 3 };
std::string_view name_of(IndexFormat format) noexcept;

/// Row numbers, ascending. A dense index takes a few bytes, whatever the size of the call tree.
class RowNumbers {
 public:
  RowNumbers() = default;
  RowNumbers(std::vector<std::uint32_t> listed) : listed_(std::move(listed)) {}
  RowNumbers(std::initializer_list<std::uint32_t> listed) : listed_(listed) {}
  /// The rows 0 to `count` - 1.
  static RowNumbers dense(std::uint32_t count) {
    RowNumbers numbers;
    numbers.dense_count_ = count;
    return numbers;
  }

  std::size_t size() const noexcept { return listed_.size() + dense_count_; }
  bool empty() const noexcept { return size() == 0; }
  std::uint32_t operator[](std::size_t position) const {
    return listed_.empty() ? static_cast<std::uint32_t>(position) : listed_[position];
  }
  /// The position of `row` in the index; nullopt if it is absent.
  std::optional<std::uint64_t> index_of(std::uint32_t row) const;

  friend bool operator==(const RowNumbers&, const RowNumbers&) noexcept = default;

 private:
  std::vector<std::uint32_t> listed_;
  std::uint32_t dense_count_ = 0;  // number of rows if none is listed
};

struct Index {
  IndexFormat format = IndexFormat::kSparse;
  ByteOrder order = ByteOrder::kLittle;
  RowNumbers rows;  ///< rows that exist; all of them for a dense index

  friend bool operator==(const Index&, const Index&) noexcept = default;
};

/// Bytes of an index of `row_count` rows.
constexpr std::uint64_t index_bytes(IndexFormat format, std::uint64_t row_count) {
  return kIndexHeaderBytes + (format == IndexFormat::kSparse ? 4 + 4 * row_count : 0);
}

std::vector<std::byte> encode_index(const Index& index);

/// Decodes the index of a metric that can have `row_limit` rows. Fails with kDamage, as
/// docs/formats/cubex.md specifies; offsets are from the beginning of `bytes`.
Result<Index> decode_index(std::span<const std::byte> bytes, std::uint32_t row_limit);

}  // namespace forebay::cube
