// SPDX-License-Identifier: Apache-2.0
// Maps parts to ranks. Results do not depend on the map.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace forebay::flow {

class PartMap {
 public:
  /// `rank_of_part` has a rank below `rank_count` for each part.
  PartMap(std::vector<std::uint32_t> rank_of_part, std::uint32_t rank_count);

  std::uint32_t rank_count() const noexcept { return static_cast<std::uint32_t>(parts_.size()); }
  std::uint32_t part_count() const noexcept { return static_cast<std::uint32_t>(rank_of_.size()); }
  std::uint32_t rank_of(std::uint32_t part) const { return rank_of_[part]; }
  /// In ascending order.
  std::span<const std::uint32_t> parts_of(std::uint32_t rank) const { return parts_[rank]; }

 private:
  std::vector<std::uint32_t> rank_of_;
  std::vector<std::vector<std::uint32_t>> parts_;
};

/// Consecutive parts for each rank, as even as possible; the first ranks have one more.
PartMap make_block_map(std::uint32_t part_count, std::uint32_t rank_count);
/// Part 0 to rank 0, part 1 to rank 1, and so on, cyclically.
PartMap make_round_robin_map(std::uint32_t part_count, std::uint32_t rank_count);
/// Each part to a random rank; low ranks have a higher probability, so they have more parts.
PartMap make_random_map(std::uint32_t part_count, std::uint32_t rank_count, std::uint64_t seed);

/// Parses "blocks", "round-robin" or "random:SEED". Else kInvalidArgument.
Result<PartMap> parse_part_map(std::string_view name,
                               std::uint32_t part_count,
                               std::uint32_t rank_count);

}  // namespace forebay::flow
