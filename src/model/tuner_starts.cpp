// SPDX-License-Identifier: Apache-2.0
#include "model/tuner_starts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace forebay::model {

namespace {

/// Starts without a model: a larger part of the trials.
constexpr std::uint32_t kStartsWithoutModel = 8;
/// Starts that the model chooses, and their least distance.
constexpr std::size_t kModelStarts = 2;
constexpr double kModelStartsDistance = 0.25;
/// Candidates compared for each scattered start. Few, because the farthest of all are corners,
/// where costs are extreme.
constexpr int kScatteredDraws = 8;

double distance_to(const CostSurface& surface,
                   const std::vector<std::size_t>& starts,
                   std::size_t candidate) {
  double least = surface.distance(starts.front(), candidate);
  for (const std::size_t start : starts)
    least = std::min(least, surface.distance(start, candidate));
  return least;
}

void add_scattered(const CostSurface& surface,
                   const std::vector<std::size_t>& allowed,
                   std::mt19937_64& random,
                   std::vector<std::size_t>& starts) {
  std::size_t farthest = starts.front();
  double farthest_distance = 0;
  for (int i = 0; i < kScatteredDraws; ++i) {
    const std::size_t drawn = allowed[random() % allowed.size()];
    const double distance = distance_to(surface, starts, drawn);
    if (distance <= farthest_distance) continue;
    farthest = drawn;
    farthest_distance = distance;
  }
  if (farthest_distance > 0) starts.push_back(farthest);
}

}  // namespace

std::vector<std::size_t> choose_starts(const CostSurface& surface,
                                       std::size_t candidate_count,
                                       const TunerOptions& options) {
  std::vector<std::size_t> order(candidate_count);
  std::iota(order.begin(), order.end(), 0);
  const auto predicted = [&](std::size_t candidate) { return surface.predicted(candidate); };
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(predicted(i), i); });
  const bool has_model = predicted(order.front()) < predicted(order.back());
  const double limit = predicted(order.front()) + std::log(options.start_cost_max);
  order.erase(std::ranges::upper_bound(order, limit, {}, predicted), order.end());

  std::vector<std::size_t> starts{0};
  for (std::size_t i = 0; has_model && i < order.size() && starts.size() <= kModelStarts; ++i) {
    const double distance = distance_to(surface, starts, order[i]);
    if (distance >= (i == 0 ? 1e-9 : kModelStartsDistance)) starts.push_back(order[i]);
  }
  std::mt19937_64 random(options.seed);
  const std::size_t count =
      has_model ? options.starts_max : std::max(options.starts_max, kStartsWithoutModel);
  for (std::size_t i = starts.size(); i < count; ++i)
    add_scattered(surface, order, random, starts);
  if (starts.size() > count) starts.resize(count);
  return starts;
}

}  // namespace forebay::model
