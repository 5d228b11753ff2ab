// SPDX-License-Identifier: Apache-2.0
#include "flow/halo_sum.hpp"

#include <algorithm>
#include <tuple>

namespace forebay::flow {

HaloSum::HaloSum(const PartSet& set, SolverComm& comm, PhaseTimes& times)
    : set_(set), comm_(comm), times_(times) {
  plan(Direction::kSend, send_blocks_, send_ranks_);
  std::vector<PartBlock> receive_blocks;
  plan(Direction::kReceive, receive_blocks, receive_ranks_);
  for (const MeshPart& part : set.parts())
    receive_offsets_.emplace_back(part.neighbors.size());
  for (const PartBlock& block : receive_blocks)
    receive_offsets_[block.part][block.neighbor] = block.first;
  const auto end_of = [](const std::vector<RankBlock>& rank_blocks) {
    return rank_blocks.empty() ? 0 : rank_blocks.back().first + rank_blocks.back().count;
  };
  send_buffer_.resize(end_of(send_ranks_));
  receive_buffer_.resize(end_of(receive_ranks_));
  std::size_t shared_max = 0;
  for (const MeshPart& part : set.parts())
    shared_max = std::max(shared_max, part.shared_count);
  sums_.resize(shared_max);
}

void HaloSum::plan(Direction direction,
                   std::vector<PartBlock>& blocks,
                   std::vector<RankBlock>& rank_blocks) {
  for (std::size_t i = 0; i < set_.parts().size(); ++i) {
    for (std::size_t n = 0; n < set_.parts()[i].neighbors.size(); ++n)
      blocks.push_back({i, n, 0});
  }
  const auto other = [&](const PartBlock& block) {
    return set_.parts()[block.part].neighbors[block.neighbor].part;
  };
  const auto key = [&](const PartBlock& block) {
    const std::uint32_t own_part = set_.parts()[block.part].number;
    const std::uint32_t other_part = other(block);
    const std::uint32_t rank = set_.map().rank_of(other_part);
    return direction == Direction::kSend ? std::tuple(rank, own_part, other_part)
                                         : std::tuple(rank, other_part, own_part);
  };
  std::ranges::sort(blocks, {}, key);
  std::size_t first = 0;
  for (PartBlock& block : blocks) {
    const std::uint32_t rank = set_.map().rank_of(other(block));
    if (rank_blocks.empty() || rank_blocks.back().rank != rank)
      rank_blocks.push_back({rank, first, 0});
    const std::size_t count = set_.parts()[block.part].neighbors[block.neighbor].nodes.size();
    block.first = first;
    first += count;
    rank_blocks.back().count += count;
  }
}

std::size_t HaloSum::send_bytes() const noexcept {
  std::size_t count = 0;
  for (const RankBlock& rank_block : send_ranks_)
    if (rank_block.rank != set_.rank()) count += rank_block.count;
  return count * sizeof(double);
}

void HaloSum::start_exchange(std::span<const double> vector) {
  const PhaseTimer timer(times_.exchange_s);
  for (const PartBlock& block : send_blocks_) {
    const auto values = set_.slice(vector, block.part);
    double* into = send_buffer_.data() + block.first;
    for (const std::uint32_t node : set_.parts()[block.part].neighbors[block.neighbor].nodes)
      *into++ = values[node];
  }
  std::vector<OutgoingMessage> out;
  for (const RankBlock& rank_block : send_ranks_) {
    const auto values = std::span(send_buffer_).subspan(rank_block.first, rank_block.count);
    if (rank_block.rank != set_.rank()) out.push_back({rank_block.rank, values});
  }
  std::vector<IncomingMessage> in;
  for (const RankBlock& rank_block : receive_ranks_) {
    const auto values = std::span(receive_buffer_).subspan(rank_block.first, rank_block.count);
    if (rank_block.rank != set_.rank()) in.push_back({rank_block.rank, values});
  }
  comm_.start_exchange(out, in);
  // Parts of the same rank: both buffers have the same order, so a copy is enough.
  const auto is_own = [&](const RankBlock& rank_block) { return rank_block.rank == set_.rank(); };
  const auto from = std::ranges::find_if(send_ranks_, is_own);
  const auto to = std::ranges::find_if(receive_ranks_, is_own);
  if (from == send_ranks_.end()) return;
  std::ranges::copy(std::span(send_buffer_).subspan(from->first, from->count),
                    receive_buffer_.begin() + static_cast<std::ptrdiff_t>(to->first));
}

void HaloSum::finish_exchange(std::span<double> vector) {
  const PhaseTimer timer(times_.exchange_s);
  comm_.finish_exchange();
  for (std::size_t i = 0; i < set_.parts().size(); ++i) {
    const MeshPart& part = set_.parts()[i];
    const auto values = set_.slice(vector, i);
    const auto sums = std::span(sums_).first(part.shared_count);
    std::ranges::fill(sums, 0.0);
    bool is_own_added = false;
    const auto add_own = [&] {
      for (std::size_t node = 0; node < sums.size(); ++node)
        sums[node] += values[node];
      is_own_added = true;
    };
    for (std::size_t n = 0; n < part.neighbors.size(); ++n) {
      if (!is_own_added && part.neighbors[n].part > part.number) add_own();
      const double* from = receive_buffer_.data() + receive_offsets_[i][n];
      for (const std::uint32_t node : part.neighbors[n].nodes)
        sums[node] += *from++;
    }
    if (!is_own_added) add_own();
    std::ranges::copy(sums, values.begin());
  }
}

}  // namespace forebay::flow
