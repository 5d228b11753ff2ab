// SPDX-License-Identifier: Apache-2.0
#include "write/dense_rounds.hpp"

#include <algorithm>
#include <utility>

namespace forebay::write {

CollectiveMethod choose_collective_method(Access access, std::span<const ByteRange> ranges) {
  if (access == Access::kDirect) return CollectiveMethod::kIndependent;
  std::uint64_t bytes = 0;
  for (const ByteRange& range : ranges)
    bytes += range.size;
  const bool is_large = bytes >= ranges.size() * kLargePieceBytes;
  return is_large ? CollectiveMethod::kCollective : CollectiveMethod::kTwoPhase;
}

std::vector<ByteRange> coalesce(std::vector<ByteRange> ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  std::vector<ByteRange> all;
  for (const ByteRange& range : ranges) {
    if (range.empty()) continue;
    if (!all.empty() && all.back().end() == range.offset)
      all.back().size += range.size;
    else
      all.push_back(range);
  }
  return all;
}

std::vector<ByteRange> dense_rounds(std::vector<ByteRange> ranges) {
  std::vector<ByteRange> rounds;
  for (ByteRange rest : coalesce(std::move(ranges))) {
    while (!rest.empty()) {
      const ByteRange round{rest.offset,
                            std::min(rest.size, comm::CollectiveFile::kPiecesBytesMax)};
      rounds.push_back(round);
      rest = {round.end(), rest.size - round.size};
    }
  }
  return rounds;
}

std::vector<comm::FilePiece> clip_to_round(const ByteRange& round,
                                           std::span<const comm::FilePiece> pieces) {
  std::vector<comm::FilePiece> inside;
  auto piece = std::ranges::upper_bound(pieces, round.offset, {}, &comm::FilePiece::end_bytes);
  for (; piece != pieces.end() && piece->offset_bytes < round.end(); ++piece) {
    const ByteRange part = intersect(round, {piece->offset_bytes, piece->bytes.size()});
    const auto bytes = piece->bytes.subspan(part.offset - piece->offset_bytes, part.size);
    if (!part.empty()) inside.push_back({bytes, part.offset});
  }
  return inside;
}

}  // namespace forebay::write
