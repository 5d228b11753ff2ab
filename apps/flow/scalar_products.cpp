// SPDX-License-Identifier: Apache-2.0
#include "flow/scalar_products.hpp"

#include <array>

namespace forebay::flow {

namespace {

/// Four sums at a time, as one would wait for each addition.
double product_of(std::span<const double> left, std::span<const double> right) {
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

double owned_product(const Part& part,
                     std::span<const double> left,
                     std::span<const double> right) {
  const std::size_t owned = part.owned_shared_count;
  const std::size_t inner = part.shared_count;
  return product_of(left.first(owned), right.first(owned)) +
         product_of(left.subspan(inner), right.subspan(inner));
}

}  // namespace

ScalarProducts::ScalarProducts(const PartSet& set, Team& team, PhaseTimes& times)
    : set_(set), team_(team), times_(times), place_of_part_(set.map().part_count()) {
  std::size_t place = 0;
  for (std::uint32_t rank = 0; rank < set.map().rank_count(); ++rank) {
    for (const std::uint32_t part : set.map().parts_of(rank))
      place_of_part_[part] = place++;
  }
}

std::vector<double> ScalarProducts::of(std::span<const VectorPair> pairs) {
  const PhaseTimer timer(times_.sums_s);
  std::vector<double> mine;
  for (std::size_t i = 0; i < set_.parts().size(); ++i) {
    for (const VectorPair& pair : pairs) {
      mine.push_back(
          owned_product(set_.parts()[i], set_.piece(pair.left, i), set_.piece(pair.right, i)));
    }
  }
  std::vector<std::size_t> sizes;
  for (std::uint32_t rank = 0; rank < set_.map().rank_count(); ++rank)
    sizes.push_back(set_.map().parts_of(rank).size() * pairs.size() * sizeof(double));
  std::vector<double> all(place_of_part_.size() * pairs.size());
  team_.gather_bytes(std::as_bytes(std::span(mine)), sizes, std::as_writable_bytes(std::span(all)));
  std::vector<double> totals(pairs.size());
  for (const std::size_t place : place_of_part_) {
    for (std::size_t pair = 0; pair < pairs.size(); ++pair)
      totals[pair] += all[place * pairs.size() + pair];
  }
  return totals;
}

}  // namespace forebay::flow
