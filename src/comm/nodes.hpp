// SPDX-License-Identifier: Apache-2.0
// Ranks, and which of them share a node. Code that places agents or shares memory uses this class.
// Only the code that creates it depends on how nodes are detected.
#pragma once

#include <forebay/detail/export.hpp>

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay::comm {

/// A process (or, in tests, a thread) of a communicator, numbered from 0.
struct Rank {
  std::uint32_t number = 0;

  friend constexpr auto operator<=>(const Rank&, const Rank&) noexcept = default;
};

/// A computer. Nodes are numbered from 0, in the order of the lowest rank on each.
struct Node {
  std::uint32_t number = 0;

  friend constexpr auto operator<=>(const Node&, const Node&) noexcept = default;
};

/// Nodes of the ranks of one communicator. Immutable; any thread.
class FOREBAY_EXPORT Nodes {
 public:
  Nodes() = default;

  /// `keys` has one number for each rank, equal for ranks that share a node. The values do not
  /// matter otherwise.
  explicit Nodes(std::span<const std::uint64_t> keys);

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }
  Node node_of(Rank rank) const;

  /// All ranks of a node, in increasing order; never empty.
  const std::vector<Rank>& ranks_of(Node node) const;

  /// The index of `rank` among the ranks of its node, from 0.
  std::uint32_t local_rank(Rank rank) const;

  /// The lowest rank of a node.
  Rank leader_of(Node node) const { return ranks_of(node).front(); }

 private:
  std::vector<Node> node_of_rank_;
  std::vector<std::uint32_t> local_rank_;
  std::vector<std::vector<Rank>> ranks_;
};

}  // namespace forebay::comm
