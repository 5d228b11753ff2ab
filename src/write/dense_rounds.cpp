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
  const bool is_large = bytes >= ranges.size() * kLargeRangeBytes;
  return is_large ? CollectiveMethod::kUnaggregated : CollectiveMethod::kAggregated;
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
                            std::min(rest.size, comm::CollectiveFile::kSegmentsBytesMax)};
      rounds.push_back(round);
      rest = {round.end(), rest.size - round.size};
    }
  }
  return rounds;
}

std::vector<comm::FileSegment> clip_to_round(const ByteRange& round,
                                             std::span<const comm::FileSegment> segments) {
  std::vector<comm::FileSegment> inside;
  auto segment =
      std::ranges::upper_bound(segments, round.offset, {}, &comm::FileSegment::end_bytes);
  for (; segment != segments.end() && segment->offset_bytes < round.end(); ++segment) {
    const ByteRange part = intersect(round, {segment->offset_bytes, segment->bytes.size()});
    const auto bytes = segment->bytes.subspan(part.offset - segment->offset_bytes, part.size);
    if (!part.empty()) inside.push_back({bytes, part.offset});
  }
  return inside;
}

}  // namespace forebay::write
