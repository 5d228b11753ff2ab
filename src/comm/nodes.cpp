// SPDX-License-Identifier: Apache-2.0
// From the keys of the ranks to numbered nodes.
#include "comm/nodes.hpp"

#include <unordered_map>

#include "base/assert.hpp"

namespace forebay::comm {

Nodes::Nodes(std::span<const std::uint64_t> keys) {
  std::unordered_map<std::uint64_t, Node> known;
  for (std::uint32_t number = 0; number < keys.size(); ++number) {
    const auto [found, is_new] = known.try_emplace(keys[number], Node{count()});
    if (is_new) ranks_.emplace_back();
    std::vector<Rank>& ranks = ranks_[found->second.number];
    node_of_rank_.push_back(found->second);
    local_rank_.push_back(static_cast<std::uint32_t>(ranks.size()));
    ranks.push_back(Rank{number});
  }
}

Node Nodes::node_of(Rank rank) const {
  FOREBAY_ASSERT(rank.number < node_of_rank_.size());
  return node_of_rank_[rank.number];
}

const std::vector<Rank>& Nodes::ranks_of(Node node) const {
  FOREBAY_ASSERT(node.number < ranks_.size());
  return ranks_[node.number];
}

std::uint32_t Nodes::local_rank(Rank rank) const {
  FOREBAY_ASSERT(rank.number < local_rank_.size());
  return local_rank_[rank.number];
}

}  // namespace forebay::comm
