// SPDX-License-Identifier: Apache-2.0
// Dense rounds. A round is the range of a file that its ranks write in one collective call. Dense:
// every byte of it belongs to the step. MPI-IO fills holes between the ranks' bytes by reading and
// rewriting the whole range. That moves more bytes than the step has, and overwrites what other
// ranks write into the hole. So no round has a hole.
#pragma once

#include <forebay/access.hpp>
#include <forebay/range.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "comm/collective_file.hpp"

namespace forebay::write {

/// How the ranks of a file write the rounds of a step: the same on all ranks.
enum class CollectiveMethod : std::uint8_t {
  /// No MPI: each rank writes its chunks through its device queue, as in other transfer modes.
  kIndependent,
  kUnaggregated,  ///< MPI-IO; each rank writes its own segments (romio_cb_write=disable)
  kAggregated,    ///< MPI-IO, which may aggregate interleaved segments (collective buffering)
};

/// If ranges have this many bytes on average, each rank's requests are large without aggregators,
/// which would only add a copy.
inline constexpr std::uint64_t kLargeRangeBytes = std::uint64_t{1} << 20U;

/// kIndependent for direct access, because MPI-IO writes through the page cache. Else
/// kUnaggregated if the ranges have kLargeRangeBytes on average, and kAggregated for
/// smaller ones.
CollectiveMethod choose_collective_method(Access access, std::span<const ByteRange> ranges);

/// Returns the same bytes by rising offset, as the fewest ranges. `ranges` must not overlap.
std::vector<ByteRange> coalesce(std::vector<ByteRange> ranges);

/// The rounds of a step, from the ranges of all ranks, by rising offset. Each has at most
/// CollectiveFile::kSegmentsBytesMax bytes, and each of its bytes is in one of the ranges.
std::vector<ByteRange> dense_rounds(std::vector<ByteRange> ranges);

/// The parts of `segments` that lie in a round. `segments` must be sorted by offset.
std::vector<comm::FileSegment> clip_to_round(const ByteRange& round,
                                             std::span<const comm::FileSegment> segments);

}  // namespace forebay::write
