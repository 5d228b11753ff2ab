// SPDX-License-Identifier: Apache-2.0
#include "flow/scalar_products.hpp"

#include <array>

namespace forebay::flow {

namespace {

/// Four sums at a time, because a single sum would wait for each addition.
double dot(std::span<const double> left, std::span<const double> right) {
  constexpr std::size_t kLanes = 4;
  std::array<double, kLanes> sums{};
  const std::size_t whole = left.size() - left.size() % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += left[i + lane] * right[i + lane];
  }
  for (std::size_t i = whole; i < left.size(); ++i)
    sums[0] += left[i] * right[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double owned_dot(const MeshPart& part,
                 std::span<const double> left,
                 std::span<const double> right) {
  const std::size_t owned = part.owned_shared_count;
  const std::size_t inner = part.shared_count;
  return dot(left.first(owned), right.first(owned)) +
         dot(left.subspan(inner), right.subspan(inner));
}

}  // namespace

ScalarProducts::ScalarProducts(const PartSet& set, SolverComm& comm, PhaseTimes& times)
    : set_(set), comm_(comm), times_(times), gathered_index_(set.map().part_count()) {
  std::size_t place = 0;
  for (std::uint32_t rank = 0; rank < set.map().rank_count(); ++rank) {
    for (const std::uint32_t part : set.map().parts_of(rank))
      gathered_index_[part] = place++;
  }
}

std::vector<double> ScalarProducts::compute(std::span<const VectorPair> pairs) {
  const PhaseTimer timer(times_.sums_s);
  std::vector<double> local;
  for (std::size_t i = 0; i < set_.parts().size(); ++i) {
    for (const VectorPair& pair : pairs) {
      local.push_back(
          owned_dot(set_.parts()[i], set_.slice(pair.left, i), set_.slice(pair.right, i)));
    }
  }
  std::vector<std::size_t> sizes;
  for (std::uint32_t rank = 0; rank < set_.map().rank_count(); ++rank)
    sizes.push_back(set_.map().parts_of(rank).size() * pairs.size() * sizeof(double));
  std::vector<double> gathered(gathered_index_.size() * pairs.size());
  comm_.allgatherv(std::as_bytes(std::span(local)), sizes,
                   std::as_writable_bytes(std::span(gathered)));
  std::vector<double> totals(pairs.size());
  for (const std::size_t place : gathered_index_) {
    for (std::size_t pair = 0; pair < pairs.size(); ++pair)
      totals[pair] += gathered[place * pairs.size() + pair];
  }
  return totals;
}

}  // namespace forebay::flow
