// SPDX-License-Identifier: Apache-2.0
// Where everything of a new profile goes, and in which pieces its rows are computed. Pure: so
// what each thread or rank writes is known before the first value, and tested without a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cube/container_layout.hpp"
#include "cube/index.hpp"
#include "cube/sink.hpp"

namespace forebay::cube {

/// A member that is written as it is.
struct CarriedMember {
  std::string name;
  std::string content;
};

/// What rows cost most: storage, or a processor.
enum class RowEffort : std::uint8_t { kCopied, kComputed };

/// The rows of one metric, before any of them is known.
struct NewRows {
  std::uint32_t metric_id = 0;
  std::uint64_t row_bytes = 0;  ///< of an unpacked row
  Index index = {};
  RowEffort effort = RowEffort::kCopied;
};

/// A new profile without the values: its members in the order in which they are written.
struct NewProfile {
  std::vector<CarriedMember> carried = {};
  std::vector<NewRows> metrics = {};  ///< those that have members
  std::string anchor = {};
};

/// Bytes of all rows, unpacked.
std::uint64_t all_row_bytes(std::span<const NewRows> metrics);
/// Bytes of the longest row, unpacked.
std::uint64_t row_bytes_max(std::span<const NewRows> metrics);

/// Collects what is written; neighbours become one piece.
class PieceCollector : public Sink {
 public:
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  std::vector<Piece> take() { return std::exchange(pieces_, {}); }

 private:
  std::vector<Piece> pieces_;
};

struct ProfileLayout {
  std::vector<RowsPlace> rows;  ///< by metric
  std::vector<Piece> frame;  ///< all bytes that are not rows, in rising order, with gaps for rows
  std::uint64_t file_bytes = 0;
};

/// The place of every byte of a profile with plain rows.
ProfileLayout plan_layout(const NewProfile& profile);

/// Rows of one metric that follow each other in its index: what one thread computes at a time and
/// writes as one.
struct RowChunk {
  std::size_t metric = 0;   ///< its place in NewProfile::metrics
  std::uint64_t first = 0;  ///< its place in the index
  std::uint64_t count = 0;

  friend bool operator==(const RowChunk&, const RowChunk&) noexcept = default;
};

/// Cuts rows into chunks of at most `chunk_bytes`, or one row. In the order of their first row
/// numbers, so that what is computed of the same call paths comes together: their input is in
/// memory then. Chunks that are copied come evenly between those that are computed: they take
/// storage longer than a processor, the others a processor longer, and together both are busy.
std::vector<RowChunk> plan_chunks(std::span<const NewRows> metrics, std::uint64_t chunk_bytes);

/// The shape of a metric's rows; `packed_bytes` is left open.
RowsShape rows_shape(const NewRows& metric);

}  // namespace forebay::cube
