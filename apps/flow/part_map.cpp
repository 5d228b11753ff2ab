// SPDX-License-Identifier: Apache-2.0
#include "flow/part_map.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "command/random.hpp"

namespace forebay::flow {

PartMap::PartMap(std::vector<std::uint32_t> rank_of_part, std::uint32_t rank_count)
    : rank_of_(std::move(rank_of_part)), parts_(rank_count) {
  for (std::uint32_t part = 0; part < rank_of_.size(); ++part)
    parts_[rank_of_[part]].push_back(part);
}

PartMap make_block_map(std::uint32_t part_count, std::uint32_t rank_count) {
  const std::uint32_t each = part_count / rank_count;
  const std::uint32_t more = part_count % rank_count;
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < rank_count; ++rank)
    ranks.insert(ranks.end(), each + (rank < more ? 1 : 0), rank);
  return {std::move(ranks), rank_count};
}

PartMap make_round_robin_map(std::uint32_t part_count, std::uint32_t rank_count) {
  std::vector<std::uint32_t> ranks(part_count);
  for (std::uint32_t part = 0; part < part_count; ++part)
    ranks[part] = part % rank_count;
  return {std::move(ranks), rank_count};
}

PartMap make_random_map(std::uint32_t part_count, std::uint32_t rank_count, std::uint64_t seed) {
  command::Random random(seed, part_count);
  std::vector<std::uint32_t> ranks(part_count);
  for (std::uint32_t& rank : ranks) {
    const double lower = random.uniform() * random.uniform();
    rank = std::min(rank_count - 1, static_cast<std::uint32_t>(lower * rank_count));
  }
  return {std::move(ranks), rank_count};
}

Result<PartMap> parse_part_map(std::string_view name,
                               std::uint32_t part_count,
                               std::uint32_t rank_count) {
  constexpr std::string_view kRandom = "random:";
  if (name == "blocks") return make_block_map(part_count, rank_count);
  if (name == "round-robin") return make_round_robin_map(part_count, rank_count);
  if (name.starts_with(kRandom)) {
    const std::string_view digits = name.substr(kRandom.size());
    std::uint64_t seed = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    const bool is_whole = error == std::errc{} && end == digits.data() + digits.size();
    if (is_whole) return make_random_map(part_count, rank_count, seed);
  }
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "map parts",
                  .cause = fmt::format(
                      "a mapping must be blocks, round-robin or random:SEED, not '{}'", name)});
}

}  // namespace forebay::flow
