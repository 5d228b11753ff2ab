// SPDX-License-Identifier: Apache-2.0
// Where everything of a remapped profile goes, and in which pieces its rows are computed. Pure: so
// what each thread or rank writes is known before the first value, and tested without a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cube/container_layout.hpp"
#include "cube/remap_metrics.hpp"
#include "cube/sink.hpp"

namespace forebay::cube {

/// A member that is written as it is.
struct CarriedMember {
  std::string name;
  std::string content;
};

/// What surrounds the rows.
struct RemapFrame {
  std::vector<CarriedMember> carried;
  std::string anchor;
};

/// Collects what is written; neighbours become one piece.
class PieceCollector : public Sink {
 public:
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  std::vector<Piece> pieces_;
};

struct RemapLayout {
  std::vector<std::optional<RowsPlace>> rows;  ///< by metric; none for one without members
  std::vector<Piece> frame;  ///< all bytes that are not rows, in rising order, with gaps for rows
  std::uint64_t file_bytes = 0;
};

/// The place of every byte of a profile with plain rows.
RemapLayout plan_layout(std::span<const RemapMetric> metrics,
                        std::uint64_t location_count,
                        const RemapFrame& frame);

/// Rows of one metric that follow each other in its index: what one thread computes at a time and
/// writes as one.
struct RowChunk {
  std::size_t metric = 0;
  std::uint64_t first = 0;  ///< its place in the index
  std::uint64_t count = 0;

  friend bool operator==(const RowChunk&, const RowChunk&) noexcept = default;
};

/// Cuts rows into chunks of at most `chunk_bytes`, or one row. In the order of their first row
/// numbers, so that what is computed of the same call paths comes together: their input is in
/// memory then. Chunks that are copied come evenly between those that are computed: they take
/// storage longer than a processor, the others a processor longer, and together both are busy.
std::vector<RowChunk> plan_chunks(std::span<const RemapMetric> metrics,
                                  std::uint64_t location_count,
                                  std::uint64_t chunk_bytes);

/// The shape of a metric's rows; `packed_bytes` is left open.
RowsShape rows_shape(const RemapMetric& metric, std::uint64_t location_count);

}  // namespace forebay::cube
