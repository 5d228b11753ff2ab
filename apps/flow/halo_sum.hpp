// SPDX-License-Identifier: Apache-2.0
// Sums the contributions of parts to the nodes they share. Each part adds them in ascending order
// of parts, so all copies of a node are equal, on any number of ranks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "flow/part_set.hpp"
#include "flow/phase_times.hpp"
#include "flow/solver_comm.hpp"

namespace forebay::flow {

/// One exchange at a time. References must outlive it.
class HaloSum {
 public:
  HaloSum(const PartSet& set, SolverComm& comm, PhaseTimes& times);

  /// Copies the contributions to shared nodes from `vector`, and starts to send them. Does not
  /// wait.
  void start_exchange(std::span<const double> vector);
  /// Waits, then replaces each contribution in `vector` by the sum over all parts. At shared nodes
  /// `vector` must hold the values that it had in start_exchange().
  void finish_exchange(std::span<double> vector);
  void add(std::span<double> vector) {
    start_exchange(vector);
    finish_exchange(vector);
  }

  /// Bytes that this rank sends to other ranks in an exchange.
  std::size_t send_bytes() const noexcept;

 private:
  /// Values of the nodes that a local part shares with a neighbor, in a send or receive buffer.
  struct PartBlock {
    std::size_t part = 0;      ///< index in the set's parts
    std::size_t neighbor = 0;  ///< index in that part's neighbors
    std::size_t first = 0;     ///< start of its values in the buffer
  };
  struct RankBlock {
    std::uint32_t rank = 0;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  enum class Direction : std::uint8_t { kSend, kReceive };

  /// Orders blocks as both ranks do: by sending part, then by receiving part.
  void plan(Direction direction,
            std::vector<PartBlock>& blocks,
            std::vector<RankBlock>& rank_blocks);

  const PartSet& set_;
  SolverComm& comm_;
  PhaseTimes& times_;
  std::vector<PartBlock> send_blocks_;
  std::vector<RankBlock> send_ranks_;
  std::vector<RankBlock> receive_ranks_;
  /// For each part and each neighbor: start of its values in receive_buffer_.
  std::vector<std::vector<std::size_t>> receive_offsets_;
  std::vector<double> send_buffer_;
  std::vector<double> receive_buffer_;
  std::vector<double> sums_;  // of the shared nodes of one part
};

}  // namespace forebay::flow
