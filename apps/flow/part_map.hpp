// SPDX-License-Identifier: Apache-2.0
// Which rank has which parts. Any map will do: results do not depend on it.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace forebay::flow {

class PartMap {
 public:
  /// A rank below `rank_count` for each part.
  PartMap(std::vector<std::uint32_t> rank_of_part, std::uint32_t rank_count);

  std::uint32_t rank_count() const noexcept { return static_cast<std::uint32_t>(parts_.size()); }
  std::uint32_t part_count() const noexcept { return static_cast<std::uint32_t>(rank_of_.size()); }
  std::uint32_t rank_of(std::uint32_t part) const { return rank_of_[part]; }
  /// In rising order.
  std::span<const std::uint32_t> parts_of(std::uint32_t rank) const { return parts_[rank]; }

 private:
  std::vector<std::uint32_t> rank_of_;
  std::vector<std::vector<std::uint32_t>> parts_;
};

/// Consecutive parts for each rank, as even as possible; the first ranks have one more.
PartMap map_in_blocks(std::uint32_t part_count, std::uint32_t rank_count);
/// Part 0 to rank 0, part 1 to rank 1, and so on, again and again.
PartMap map_round_robin(std::uint32_t part_count, std::uint32_t rank_count);
/// Each part to a rank that is drawn; low ranks are likelier, so that they have more.
PartMap map_at_random(std::uint32_t part_count, std::uint32_t rank_count, std::uint64_t seed);

/// One of these by its word: "blocks", "round-robin", "random:SEED". Else kInvalidArgument.
Result<PartMap> map_by_name(std::string_view name,
                            std::uint32_t part_count,
                            std::uint32_t rank_count);

}  // namespace forebay::flow
