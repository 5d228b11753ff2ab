// SPDX-License-Identifier: Apache-2.0
// Writing compressed rows in two phases, round after round: in each round every rank compresses a
// share of rows that follow each other; then the sizes of all are known, and with them the places.
// So each byte is written once, without temporary files, in bounded memory. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cube/profile_layout.hpp"

namespace forebay::cube {

/// Memory that a compressed row takes besides its bytes, about: it bounds shares of tiny rows.
inline constexpr std::uint64_t kPackedRowCostBytes = 64;

struct PackingShape {
  std::uint32_t ranks = 1;
  std::uint64_t share_bytes = 0;  ///< of unpacked rows, for each rank and round
};

/// All rows in the order of the file, in shares that are as equal as rows allow: share k is that of
/// rank k % ranks in round k / ranks, and there are as many for each rank. A share has at most
/// `share_bytes` and a row; some may be empty.
std::vector<std::vector<RowChunk>> plan_shares(std::span<const NewRows> metrics,
                                               const PackingShape& shape);

/// Where things are in a profile with compressed rows, told as sizes come to be known.
class PackedLayout {
 public:
  /// `profile` outlives it.
  explicit PackedLayout(const NewProfile& profile);

  /// Where the stream of the next row goes; rows come in the order of the file, none of them twice.
  std::uint64_t place(std::uint64_t size_bytes);

  /// What surrounds the rows, as far as it is known and was not taken yet, in rising order. The
  /// rest comes when all rows are placed.
  std::vector<Piece> take_frame();

 private:
  void begin_metric();
  void end_full_metrics();
  void add(const std::string& name, const std::string& content);
  void end();

  const NewProfile& profile_;
  ArchiveLayout archive_;
  PieceCollector frame_;
  std::size_t metric_ = 0;             // the first that is not full
  std::vector<std::uint64_t> sizes_;   // of its rows so far
  std::uint64_t next_row_offset_ = 0;  // of its next row
};

}  // namespace forebay::cube
