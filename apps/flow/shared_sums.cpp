// SPDX-License-Identifier: Apache-2.0
#include "flow/shared_sums.hpp"

#include <algorithm>
#include <tuple>

namespace forebay::flow {

SharedSums::SharedSums(const PartSet& set, Team& team, PhaseTimes& times)
    : set_(set), team_(team), times_(times) {
  plan(Direction::kOut, out_strips_, out_stretches_);
  std::vector<Strip> in_strips;
  plan(Direction::kIn, in_strips, in_stretches_);
  for (const Part& part : set.parts())
    in_first_.emplace_back(part.neighbours.size());
  for (const Strip& strip : in_strips)
    in_first_[strip.part][strip.neighbour] = strip.first;
  const auto end_of = [](const std::vector<Stretch>& stretches) {
    return stretches.empty() ? 0 : stretches.back().first + stretches.back().count;
  };
  out_.resize(end_of(out_stretches_));
  in_.resize(end_of(in_stretches_));
  std::size_t shared_max = 0;
  for (const Part& part : set.parts())
    shared_max = std::max(shared_max, part.shared_count);
  sums_.resize(shared_max);
}

void SharedSums::plan(Direction direction,
                      std::vector<Strip>& strips,
                      std::vector<Stretch>& stretches) {
  for (std::size_t i = 0; i < set_.parts().size(); ++i) {
    for (std::size_t n = 0; n < set_.parts()[i].neighbours.size(); ++n)
      strips.push_back({i, n, 0});
  }
  const auto other = [&](const Strip& strip) {
    return set_.parts()[strip.part].neighbours[strip.neighbour].part;
  };
  const auto key = [&](const Strip& strip) {
    const std::uint32_t here = set_.parts()[strip.part].number;
    const std::uint32_t there = other(strip);
    const std::uint32_t rank = set_.map().rank_of(there);
    return direction == Direction::kOut ? std::tuple(rank, here, there)
                                        : std::tuple(rank, there, here);
  };
  std::ranges::sort(strips, {}, key);
  std::size_t first = 0;
  for (Strip& strip : strips) {
    const std::uint32_t rank = set_.map().rank_of(other(strip));
    if (stretches.empty() || stretches.back().rank != rank) stretches.push_back({rank, first, 0});
    const std::size_t count = set_.parts()[strip.part].neighbours[strip.neighbour].nodes.size();
    strip.first = first;
    first += count;
    stretches.back().count += count;
  }
}

std::size_t SharedSums::sent_bytes() const noexcept {
  std::size_t count = 0;
  for (const Stretch& stretch : out_stretches_)
    if (stretch.rank != set_.rank()) count += stretch.count;
  return count * sizeof(double);
}

void SharedSums::start(std::span<const double> vector) {
  const PhaseTimer timer(times_.exchange_s);
  for (const Strip& strip : out_strips_) {
    const auto values = set_.piece(vector, strip.part);
    double* into = out_.data() + strip.first;
    for (const std::uint32_t node : set_.parts()[strip.part].neighbours[strip.neighbour].nodes)
      *into++ = values[node];
  }
  std::vector<OutgoingMessage> out;
  for (const Stretch& stretch : out_stretches_) {
    const auto values = std::span(out_).subspan(stretch.first, stretch.count);
    if (stretch.rank != set_.rank()) out.push_back({stretch.rank, values});
  }
  std::vector<IncomingMessage> in;
  for (const Stretch& stretch : in_stretches_) {
    const auto values = std::span(in_).subspan(stretch.first, stretch.count);
    if (stretch.rank != set_.rank()) in.push_back({stretch.rank, values});
  }
  team_.start(out, in);
  // Parts of the same rank: what goes out is in the order in which it comes in.
  const auto is_own = [&](const Stretch& stretch) { return stretch.rank == set_.rank(); };
  const auto from = std::ranges::find_if(out_stretches_, is_own);
  const auto to = std::ranges::find_if(in_stretches_, is_own);
  if (from == out_stretches_.end()) return;
  std::ranges::copy(std::span(out_).subspan(from->first, from->count),
                    in_.begin() + static_cast<std::ptrdiff_t>(to->first));
}

void SharedSums::finish(std::span<double> vector) {
  const PhaseTimer timer(times_.exchange_s);
  team_.finish();
  for (std::size_t i = 0; i < set_.parts().size(); ++i) {
    const Part& part = set_.parts()[i];
    const auto values = set_.piece(vector, i);
    const auto sums = std::span(sums_).first(part.shared_count);
    std::ranges::fill(sums, 0.0);
    bool is_own_added = false;
    const auto add_own = [&] {
      for (std::size_t node = 0; node < sums.size(); ++node)
        sums[node] += values[node];
      is_own_added = true;
    };
    for (std::size_t n = 0; n < part.neighbours.size(); ++n) {
      if (!is_own_added && part.neighbours[n].part > part.number) add_own();
      const double* from = in_.data() + in_first_[i][n];
      for (const std::uint32_t node : part.neighbours[n].nodes)
        sums[node] += *from++;
    }
    if (!is_own_added) add_own();
    std::ranges::copy(sums, values.begin());
  }
}

}  // namespace forebay::flow
