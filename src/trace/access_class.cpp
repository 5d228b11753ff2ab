// SPDX-License-Identifier: Apache-2.0
#include "trace/access_class.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "trace/reuse_distances.hpp"

namespace forebay::trace {

namespace {

constexpr double kMost = 0.9;

bool is_most(double part, double all) { return part >= kMost * all; }

/// A spatial pattern with its number of dimensions.
using Spatial = std::pair<SpatialPattern, std::size_t>;

/// The class of the accesses of a loop.
Spatial class_of_loop(const LoopItem& outermost) {
  std::size_t depth = 0;
  std::array<bool, kLoopDepthMax> has_constant_count = {};
  const LoopItem* loop = &outermost;
  const Item* item = nullptr;
  for (; loop != nullptr; ++depth, loop = std::get_if<LoopItem>(item)) {
    if (loop->items.size() != 1) return {SpatialPattern::kNested, 0};
    has_constant_count[depth] = loop->count.factors == AffineNumber{}.factors;
    item = loop->items.data();
  }
  const auto* const access = std::get_if<AccessItem>(item);
  if (access == nullptr) return {SpatialPattern::kRandom, 0};
  if (!std::all_of(has_constant_count.begin(), has_constant_count.begin() + depth, std::identity()))
    return {SpatialPattern::kNested, 0};
  const auto& steps = access->offset.factors;
  const auto dimensions = kLoopDepthMax - static_cast<std::size_t>(std::ranges::count(steps, 0));
  const auto innermost = std::find_if(steps.rbegin(), steps.rend(), std::identity());
  if (innermost != steps.rend() && *innermost < 0) return {SpatialPattern::kNegativeStride, 0};
  if (dimensions < 2) return {SpatialPattern::kFixedStride, 0};
  return {SpatialPattern::kMultiStride, dimensions};
}

/// Share of the accesses for which is_next(previous, access) is true; 1 if there is only one.
template <class IsNext>
double share_of_pairs(std::span<const Access> accesses, const IsNext& is_next) {
  if (accesses.size() < 2) return 1;
  std::size_t count = 0;
  for (std::size_t at = 1; at < accesses.size(); ++at)
    if (is_next(accesses[at - 1], accesses[at])) ++count;
  return static_cast<double>(count) / static_cast<double>(accesses.size() - 1);
}

/// The class of accesses in no loop.
Spatial class_of_rest(std::span<const Access> accesses) {
  const double ordered = share_of_pairs(
      accesses, [](const Access& a, const Access& b) { return b.offset >= a.offset; });
  return {is_most(ordered, 1) ? SpatialPattern::kVariable : SpatialPattern::kRandom, 0};
}

Spatial spatial_class(std::span<const Access> accesses, const Signature& signature) {
  const double contiguous = share_of_pairs(
      accesses, [](const Access& a, const Access& b) { return b.offset == a.end(); });
  if (is_most(contiguous, 1)) return {SpatialPattern::kContiguous, 0};
  std::map<Spatial, double> counts;
  double explained = 0;
  for (const Item& item : signature.items) {
    const auto* const loop = std::get_if<LoopItem>(&item);
    if (loop == nullptr) continue;
    const Spatial spatial = class_of_loop(*loop);
    if (spatial.first == SpatialPattern::kRandom) continue;
    const std::uint64_t count = access_count({.items = {item}}).value_or(accesses.size());
    counts[spatial] += static_cast<double>(count);
    explained += static_cast<double>(count);
  }
  const auto all = static_cast<double>(accesses.size());
  counts[class_of_rest(accesses)] += std::max(0.0, all - explained);
  for (const auto& [spatial, count] : counts)
    if (is_most(count, all)) return spatial;
  return {SpatialPattern::kMixed, 0};
}

void set_size(AccessClass& result, std::span<const Access> accesses) {
  double sum = 0;
  for (const Access& access : accesses) {
    sum += static_cast<double>(access.size);
    if (access.size != accesses[0].size) result.size_variation = SizeVariation::kVariable;
  }
  const double mean = accesses.empty() ? 0 : sum / static_cast<double>(accesses.size());
  if (mean >= static_cast<double>(64_KiB)) result.size = SizeClass::kMedium;
  if (mean >= static_cast<double>(1_MiB)) result.size = SizeClass::kLarge;
}

template <class Number>
Number median(std::vector<Number> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

void set_repetition(AccessClass& result, std::span<const Access> accesses) {
  constexpr std::size_t kShareMin = 10;  // one in ten
  std::vector<std::size_t> distances = reuse_distances(accesses, &Access::offset);
  if (distances.empty() || distances.size() * kShareMin < accesses.size()) return;
  result.repetition = Repetition::kRepeating;
  result.reuse_distance = median(std::move(distances));
}

/// True if most intervals are within 10 % of first + step * number of the interval.
bool is_near_line(const std::vector<double>& intervals, double first, double step) {
  std::size_t near = 0;
  for (std::size_t at = 0; at < intervals.size(); ++at) {
    const double expected = first + step * static_cast<double>(at);
    if (std::abs(intervals[at] - expected) <= 0.1 * std::abs(expected)) ++near;
  }
  return is_most(static_cast<double>(near), static_cast<double>(intervals.size()));
}

bool is_drifting(const std::vector<double>& intervals) {
  const auto count = static_cast<double>(intervals.size());
  const double middle = (count - 1) / 2;
  double sum = 0;
  double moment = 0;
  for (std::size_t at = 0; at < intervals.size(); ++at) {
    sum += intervals[at];
    moment += (static_cast<double>(at) - middle) * intervals[at];
  }
  const double step = moment * 12 / (count * (count * count - 1));
  return is_near_line(intervals, sum / count - step * middle, step);
}

bool is_bursty(const std::vector<double>& intervals, double median) {
  double all = 0;
  double gaps = 0;
  for (const double interval : intervals) {
    all += interval;
    if (interval > 4 * median) gaps += interval;
  }
  return gaps >= all / 2;
}

IntervalPattern interval_class(std::span<const Access> accesses) {
  std::vector<double> intervals;
  for (std::size_t at = 1; at < accesses.size(); ++at)
    intervals.push_back(static_cast<double>(accesses[at].begin_ns) -
                        static_cast<double>(accesses[at - 1].begin_ns));
  const bool is_known =
      std::ranges::any_of(intervals, [](double interval) { return interval != 0; });
  if (intervals.size() < 2 || !is_known) return IntervalPattern::kUnknown;
  const double middle = median(intervals);
  if (is_bursty(intervals, middle)) return IntervalPattern::kBursty;
  if (is_near_line(intervals, middle, 0)) return IntervalPattern::kFixed;
  return is_drifting(intervals) ? IntervalPattern::kDrifting : IntervalPattern::kRandom;
}

template <class Enum, std::size_t kCount>
std::string name_of(const std::array<std::string_view, kCount>& names, Enum value) {
  return std::string(names.at(static_cast<std::size_t>(value)));
}

}  // namespace

AccessClass classify(std::span<const Access> accesses, const Signature& signature) {
  AccessClass result;
  std::tie(result.spatial, result.dimensions) = spatial_class(accesses, signature);
  set_size(result, accesses);
  set_repetition(result, accesses);
  result.interval = interval_class(accesses);
  if (signature.operation == Operation::kWrite) result.operation = OperationClass::kWrite;
  return result;
}

std::string to_text(const AccessClass& access_class) {
  using Names2 = std::array<std::string_view, 2>;
  static constexpr std::array<std::string_view, 8> kSpatial{
      "contiguous", "fixed stride", "-d stride", "negative stride",
      "nested",     "variable",     "random",    "mixed"};
  static constexpr std::array<std::string_view, 3> kSizes{"small", "medium", "large"};
  static constexpr std::array<std::string_view, 5> kIntervals{"unknown", "bursty", "fixed",
                                                              "drifting", "random"};
  static constexpr std::array<std::string_view, 3> kOperations{"read", "write", "read and write"};
  std::string text;
  if (access_class.spatial == SpatialPattern::kMultiStride)
    text += std::to_string(access_class.dimensions);
  text += name_of(kSpatial, access_class.spatial) + "; ";
  text += name_of(Names2{"fixed", "variable"}, access_class.size_variation) + " ";
  text += name_of(kSizes, access_class.size) + " requests; ";
  text += name_of(Names2{"single", "repeating after "}, access_class.repetition);
  if (access_class.repetition == Repetition::kRepeating)
    text += std::to_string(access_class.reuse_distance) + " accesses";
  text += "; " + name_of(kIntervals, access_class.interval) + " interval; ";
  return text + name_of(kOperations, access_class.operation);
}

}  // namespace forebay::trace
