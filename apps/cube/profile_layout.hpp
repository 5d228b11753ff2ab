// SPDX-License-Identifier: Apache-2.0
// The layout of a new profile, and the chunks in which its rows are computed. Pure: the writes of
// each thread and rank are determined before the first value, and tested without a file.
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

/// A member that is copied unchanged.
struct CopiedMember {
  std::string name;
  std::string content;
};

/// The resource that limits a row: storage, or a processor.
enum class RowCost : std::uint8_t { kIo, kCpu };

/// The rows of one metric, before any of them is computed.
struct NewRows {
  std::uint32_t metric_id = 0;
  std::uint64_t row_bytes = 0;  ///< of an uncompressed row
  Index index = {};
  RowCost cost = RowCost::kIo;
};

/// A new profile without its values. Members are in the order in which they are written.
struct NewProfile {
  std::vector<CopiedMember> copied_members = {};
  std::vector<NewRows> metrics = {};  ///< measured metrics with members
  std::string anchor = {};
};

/// Bytes of all rows, uncompressed.
std::uint64_t total_row_bytes(std::span<const NewRows> metrics);
/// Bytes of the longest row, uncompressed.
std::uint64_t row_bytes_max(std::span<const NewRows> metrics);

/// A Sink that collects segments in memory and merges adjacent ones. write() never fails.
class SegmentCollector : public Sink {
 public:
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  std::vector<FileSegment> take() { return std::exchange(segments_, {}); }

 private:
  std::vector<FileSegment> segments_;
};

struct ProfileLayout {
  std::vector<RowsLayout> rows;  ///< by metric
  /// All bytes that are not rows, by ascending offset, with gaps for rows.
  std::vector<FileSegment> framing;
  std::uint64_t file_bytes = 0;
};

/// The offset of every byte of a profile with plain rows.
ProfileLayout plan_layout(const NewProfile& profile);

/// Rows of one metric that are consecutive in its index. One thread computes and writes them
/// together.
struct RowChunk {
  std::size_t metric = 0;   ///< index in NewProfile::metrics
  std::uint64_t first = 0;  ///< position in the metric's index
  std::uint64_t count = 0;

  friend bool operator==(const RowChunk&, const RowChunk&) noexcept = default;
};

/// Splits rows into chunks of at most `chunk_bytes`, or of one row. They are ordered by their first
/// row number, so that chunks computed from the same call paths are adjacent and find their input
/// in memory. Copied chunks are spread evenly between computed ones: the former keep storage busy,
/// the latter processors, and so both are busy.
std::vector<RowChunk> plan_chunks(std::span<const NewRows> metrics, std::uint64_t chunk_bytes);

/// The RowsSpec of a metric; `compressed_bytes` is left empty.
RowsSpec rows_spec(const NewRows& metric);

}  // namespace forebay::cube
