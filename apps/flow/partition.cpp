// SPDX-License-Identifier: Apache-2.0
#include "flow/partition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "command/random.hpp"

namespace forebay::flow {

namespace {

/// Smallest mean size of a part.
constexpr std::uint64_t kElementsPerPartMin = 8;
/// Largest tilt of a cutting plane towards each of the two other axes.
constexpr double kTilt = 0.45;
/// No part is smaller than this share of the mean.
constexpr double kSizeMin = 0.2;

/// An element and its centroid.
struct ElementCentroid {
  std::uint64_t element = 0;
  std::array<float, 3> center{};
};

/// Cuts a range of elements recursively until each piece is one part.
class Bisection {
 public:
  Bisection(const Mesh& mesh, const PartitionOptions& options)
      : seed_(options.seed), sizes_(draw_part_sizes(options)), part_of_(mesh.element_count()) {
    centroids_.reserve(mesh.element_count());
    for (std::uint64_t element = 0; element < mesh.element_count(); ++element) {
      const Point center = mesh.centroid(element);
      centroids_.push_back({element,
                            {static_cast<float>(center[0]), static_cast<float>(center[1]),
                             static_cast<float>(center[2])}});
    }
    bisect(centroids_, {0, options.parts});
  }

  std::vector<std::uint32_t> take() { return std::move(part_of_); }

 private:
  struct PartRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  void bisect(std::span<ElementCentroid> piece, PartRange parts) {
    if (parts.count == 1) {
      for (const ElementCentroid& element_centroid : piece)
        part_of_[element_centroid.element] = parts.first;
      return;
    }
    const PartRange low{parts.first, (parts.count + 1) / 2};
    const PartRange high{parts.first + low.count, parts.count - low.count};
    const double share = size_of(low) / size_of(parts);
    const auto wanted =
        static_cast<std::uint64_t>(std::llround(share * static_cast<double>(piece.size())));
    // Each part gets one element or more.
    const std::uint64_t middle =
        std::clamp<std::uint64_t>(wanted, low.count, piece.size() - high.count);
    const std::array<double, 3> direction = direction_of(piece, parts);
    const auto place = [&](const ElementCentroid& element_centroid) {
      double sum = 0;
      for (std::size_t axis = 0; axis < direction.size(); ++axis)
        sum += direction[axis] * element_centroid.center[axis];
      return std::pair(sum, element_centroid.element);
    };
    std::ranges::nth_element(piece, piece.begin() + static_cast<std::ptrdiff_t>(middle), {}, place);
    bisect(piece.first(middle), low);
    bisect(piece.subspan(middle), high);
  }

  double size_of(PartRange parts) const {
    const auto first = sizes_.begin() + parts.first;
    return std::accumulate(first, first + parts.count, 0.0);
  }

  /// Normal of a cut: the axis in which the piece is longest, tilted.
  std::array<double, 3> direction_of(std::span<const ElementCentroid> piece,
                                     PartRange parts) const {
    std::array<float, 3> extent{};
    for (std::size_t axis = 0; axis < extent.size(); ++axis) {
      const auto [least, most] =
          std::ranges::minmax_element(piece, {}, [axis](const ElementCentroid& element_centroid) {
            return element_centroid.center[axis];
          });
      extent[axis] = most->center[axis] - least->center[axis];
    }
    command::Random random(seed_, (std::uint64_t{parts.count} << 32U) + parts.first);
    std::array<double, 3> direction{};
    for (double& part : direction)
      part = kTilt * random.symmetric();
    direction[static_cast<std::size_t>(std::ranges::max_element(extent) - extent.begin())] = 1;
    return direction;
  }

  std::uint64_t seed_;
  std::vector<double> sizes_;
  std::vector<ElementCentroid> centroids_;
  std::vector<std::uint32_t> part_of_;
};

}  // namespace

std::vector<double> draw_part_sizes(const PartitionOptions& options) {
  command::Random random(options.seed, std::numeric_limits<std::uint64_t>::max());
  std::vector<double> sizes(options.parts);
  for (double& size : sizes)
    size = random.symmetric();
  const double mean = std::accumulate(sizes.begin(), sizes.end(), 0.0) / options.parts;
  const double above = std::ranges::max(sizes) - mean;
  // Scaled, so that the largest is above the mean by `options.imbalance`.
  const double stretch = above > 0 ? options.imbalance / above : 0;
  for (double& size : sizes)
    size = std::max(kSizeMin, 1 + stretch * (size - mean));
  return sizes;
}

Partition::Partition(std::vector<std::uint32_t> part_of, std::uint32_t part_count)
    : part_of_(std::move(part_of)), elements_(part_of_.size()), offsets_(part_count + 1) {
  for (const std::uint32_t part : part_of_)
    ++offsets_[part + 1];
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  std::vector<std::size_t> next(offsets_.begin(), offsets_.end() - 1);
  for (std::uint64_t element = 0; element < part_of_.size(); ++element)
    elements_[next[part_of_[element]]++] = element;
}

Result<Partition> Partition::create(const Mesh& mesh, const PartitionOptions& options) {
  const bool are_enough = mesh.element_count() / kElementsPerPartMin >= options.parts;
  const bool can_be_uneven = options.imbalance >= 0 && options.imbalance <= 1;
  if (options.parts >= 1 && are_enough && can_be_uneven) {
    return Partition(Bisection(mesh, options).take(), options.parts);
  }
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "cut mesh",
                  .cause = "the imbalance must be from 0 to 1, and each part needs 8 "
                           "elements; use fewer parts or more cells"});
}

}  // namespace forebay::flow
