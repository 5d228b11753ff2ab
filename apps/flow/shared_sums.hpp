// SPDX-License-Identifier: Apache-2.0
// Adds what parts contribute to the nodes they share. In rising order of parts, whoever has them,
// so that all copies of a node are equal, and the same on any number of ranks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "flow/part_set.hpp"
#include "flow/phase_times.hpp"
#include "flow/team.hpp"

namespace forebay::flow {

/// One exchange at a time. References must outlive it.
class SharedSums {
 public:
  SharedSums(const PartSet& set, Team& team, PhaseTimes& times);

  /// Sends the contributions to shared nodes in `vector`, which are copied first. Does not wait.
  void start(std::span<const double> vector);
  /// Replaces each contribution in `vector` by the sum of those of all parts. `vector` holds at
  /// shared nodes what it held in start().
  void finish(std::span<double> vector);
  void add(std::span<double> vector) {
    start(vector);
    finish(vector);
  }

  /// Bytes that this rank sends to others in an exchange.
  std::size_t sent_bytes() const noexcept;

 private:
  /// A list of nodes that goes from a part here to a neighbour, or comes from there.
  struct Strip {
    std::size_t part = 0;       ///< its place in the set's parts
    std::size_t neighbour = 0;  ///< its place in that part's neighbours
    std::size_t first = 0;      ///< where its values begin in the buffer
  };
  struct Stretch {
    std::uint32_t rank = 0;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  enum class Direction : std::uint8_t { kOut, kIn };

  /// Strips in the order that both ranks know: of sending parts, then of receiving parts.
  void plan(Direction direction, std::vector<Strip>& strips, std::vector<Stretch>& stretches);

  const PartSet& set_;
  Team& team_;
  PhaseTimes& times_;
  std::vector<Strip> out_strips_;
  std::vector<Stretch> out_stretches_;
  std::vector<Stretch> in_stretches_;
  /// Of each part, for each neighbour: where its values begin in in_.
  std::vector<std::vector<std::size_t>> in_first_;
  std::vector<double> out_;
  std::vector<double> in_;
  std::vector<double> sums_;  // of one part's shared nodes
};

}  // namespace forebay::flow
