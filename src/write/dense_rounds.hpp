// SPDX-License-Identifier: Apache-2.0
// Dense rounds: which bytes of a file its ranks write in which collective call. MPI-IO fills holes
// between what ranks write by reading and writing back all that lies there, which moves more bytes
// than the step has and overwrites what others write in the hole; so no round has a hole.
#pragma once

#include <forebay/access.hpp>
#include <forebay/range.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "comm/collective_file.hpp"

namespace forebay::write {

/// How the ranks of a file carry out the rounds of a step: the same on all ranks.
enum class RoundMeans : std::uint8_t {
  kQueues,      ///< each rank writes its bytes past the page cache, as in other schedules
  kOwnPieces,   ///< MPI-IO; each rank writes its own pieces
  kAggregated,  ///< MPI-IO, which gathers pieces on aggregators where they interleave
};

/// Ranges of this many bytes on average are large requests already: aggregators would copy them
/// and gain nothing.
inline constexpr std::uint64_t kLargePieceBytes = std::uint64_t{1} << 20U;

/// MPI-IO writes through the page cache alone, so it writes what goes there anyway.
RoundMeans means_for(Access access, std::span<const ByteRange> ranges);

/// The same bytes in rising order, as few ranges as possible. The ranges do not overlap.
std::vector<ByteRange> joined(std::vector<ByteRange> ranges);

/// The rounds of a step, from the ranges of all ranks: in rising order, each of at most
/// CollectiveFile::kPiecesBytesMax, with every byte of it in one of the ranges.
std::vector<ByteRange> dense_rounds(std::vector<ByteRange> ranges);

/// What of `pieces`, which rise, lies in a round.
std::vector<comm::FilePiece> pieces_in(const ByteRange& round,
                                       std::span<const comm::FilePiece> pieces);

}  // namespace forebay::write
