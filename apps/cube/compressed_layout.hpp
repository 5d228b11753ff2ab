// SPDX-License-Identifier: Apache-2.0
// Layout of compressed rows, which are written in rounds of two phases. In each round every rank
// compresses a share of consecutive rows. Then the sizes of all are known, and so are the offsets.
// Each byte is written once, in bounded memory, without temporary files. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cube/profile_layout.hpp"

namespace forebay::cube {

/// Approximate memory of a compressed row besides its bytes. It bounds shares of tiny rows.
inline constexpr std::uint64_t kCompressedRowOverheadBytes = 64;

struct CompressionPlan {
  std::uint32_t ranks = 1;
  std::uint64_t share_bytes = 0;  ///< of uncompressed rows, per rank and round
};

/// Splits all rows, in file order, into shares as equal as rows allow. Share k belongs to rank k %
/// ranks in round k / ranks, and every rank has equally many. A share has at most `share_bytes`
/// plus one row, and may be empty.
std::vector<std::vector<RowChunk>> plan_compression_shares(std::span<const NewRows> metrics,
                                                           const CompressionPlan& plan);

/// Offsets in a profile with compressed rows, computed as sizes become known.
class CompressedLayout {
 public:
  /// `profile` must outlive the object.
  explicit CompressedLayout(const NewProfile& profile);

  /// Returns the offset of the next row's stream. Rows are appended in file order, each once.
  std::uint64_t append_row(std::uint64_t size_bytes);

  /// Returns the framing that is known and was not returned before, by ascending offset. The last
  /// of it is known when all rows have been appended.
  std::vector<FileSegment> take_framing();

 private:
  void begin_metric();
  void end_full_metrics();
  void append_member(const std::string& name, const std::string& content);
  void append_trailer();

  const NewProfile& profile_;
  ArchiveLayout archive_;
  SegmentCollector framing_;
  std::size_t metric_ = 0;             // the first that lacks rows
  std::vector<std::uint64_t> sizes_;   // of its rows so far
  std::uint64_t next_row_offset_ = 0;  // of its next row
};

}  // namespace forebay::cube
