// SPDX-License-Identifier: Apache-2.0
#include "format/memory_placement.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace forebay::format {

namespace {

tl::unexpected<Error> wrong_layout(std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument, .cause = std::move(cause)});
}

std::string in_dimension(std::size_t dimension) {
  return " in dimension " + std::to_string(dimension);
}

/// a + b * c; no value on overflow.
std::optional<std::uint64_t> sum_of_product(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t product = 0;
  std::uint64_t sum = 0;
  if (__builtin_mul_overflow(b, c, &product) || __builtin_add_overflow(a, product, &sum)) return {};
  return sum;
}

Status check_dimensions(const MemoryLayout& layout, std::size_t dimensions) {
  for (const auto& [name, member] :
       {std::pair{"shape", &layout.shape}, std::pair{"start", &layout.start},
        std::pair{"strides", &layout.strides}}) {
    if (member->empty() || member->size() == dimensions) continue;
    return wrong_layout(std::string(name) + " of the memory layout has " +
                        std::to_string(member->size()) + " dimensions, the box has " +
                        std::to_string(dimensions) + "; give it that many, or none");
  }
  return {};
}

/// `shape` is empty if nothing bounds the box but the memory.
Status check_inside(std::span<const std::uint64_t> start,
                    std::span<const std::uint64_t> count,
                    const Shape& shape) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (start[d] <= shape[d] && count[d] <= shape[d] - start[d]) continue;
    return wrong_layout("start " + std::to_string(start[d]) + " and count " +
                        std::to_string(count[d]) + in_dimension(d) +
                        " of the memory layout, whose shape has " + std::to_string(shape[d]) +
                        " elements there");
  }
  return {};
}

/// In elements; `elements` becomes the number of elements of the shape. No value on overflow.
std::optional<Shape> strides_of(const Shape& shape, ArrayOrder order, std::uint64_t& elements) {
  Shape strides(shape.size());
  elements = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t d = order == ArrayOrder::kFortran ? i : shape.size() - 1 - i;
    strides[d] = elements;
    const auto next = sum_of_product(0, elements, shape[d]);
    if (!next) return {};
    elements = *next;
  }
  return strides;
}

/// A sufficient condition, that of std::layout_stride: in some order of the dimensions, each stride
/// passes all elements of the dimensions before. The sum does not overflow: place_in_memory() has
/// added these numbers before.
Status check_unique(std::span<const std::uint64_t> count, const Shape& strides) {
  std::vector<std::size_t> by_stride;
  for (std::size_t d = 0; d < count.size(); ++d)
    if (count[d] > 1) by_stride.push_back(d);
  std::ranges::sort(by_stride, {}, [&](std::size_t d) { return strides[d]; });
  std::uint64_t distance = 0;
  for (const std::size_t d : by_stride) {
    if (strides[d] <= distance)
      return wrong_layout("stride " + std::to_string(strides[d]) + in_dimension(d) +
                          " of the memory layout must be larger than " + std::to_string(distance) +
                          ", or elements could overwrite each other");
    distance += (count[d] - 1) * strides[d];
  }
  return {};
}

/// The element after the last one of the box, from the start of the memory. UINT64_MAX on overflow.
std::uint64_t end_of(std::uint64_t offset,
                     std::span<const std::uint64_t> count,
                     const Shape& strides) {
  std::optional<std::uint64_t> last = offset;
  for (std::size_t d = 0; last && d < count.size(); ++d)
    last = sum_of_product(*last, count[d] - 1, strides[d]);
  return last && *last < UINT64_MAX ? *last + 1 : UINT64_MAX;
}

}  // namespace

MemoryPlacement packed_placement(std::span<const std::uint64_t> count,
                                 std::uint64_t element_bytes) {
  MemoryPlacement placement{.strides = Coordinates(count.size())};
  for (std::size_t d = count.size(); d-- > 0; element_bytes *= count[d])
    placement.strides[d] = element_bytes;
  return placement;
}

Result<MemoryPlacement> place_in_memory(const MemoryLayout& layout, const BoxMemory& box) {
  const std::size_t dimensions = box.count.size();
  if (auto checked = check_dimensions(layout, dimensions); !checked)
    return failure(checked.error());
  const Shape start = layout.start.empty() ? Shape(dimensions, 0) : layout.start;
  const bool is_dense = layout.strides.empty();
  Shape shape = layout.shape;
  if (is_dense && shape.empty()) shape.assign(box.count.begin(), box.count.end());
  if (auto inside = check_inside(start, box.count, shape); !inside) return failure(inside.error());
  std::uint64_t elements = UINT64_MAX;
  const auto strides = is_dense ? strides_of(shape, layout.order, elements) : layout.strides;
  const auto needed_bytes = sum_of_product(0, elements, box.element_bytes);
  if (is_dense && (!strides || !needed_bytes || *needed_bytes != box.memory_bytes))
    return wrong_layout("the shape of the memory layout has " +
                        (strides ? std::to_string(elements) : "too many") + " elements of " +
                        std::to_string(box.element_bytes) + " bytes, the memory has " +
                        std::to_string(box.memory_bytes) + " bytes; pass the whole array");
  if (std::ranges::find(box.count, 0U) != box.count.end())
    return MemoryPlacement{.strides = Coordinates(dimensions, 0)};
  std::optional<std::uint64_t> offset = 0;
  for (std::size_t d = 0; offset && d < dimensions; ++d)
    offset = sum_of_product(*offset, start[d], (*strides)[d]);
  const std::uint64_t end = offset ? end_of(*offset, box.count, *strides) : UINT64_MAX;
  if (end > box.memory_bytes / box.element_bytes)
    return wrong_layout("the memory layout ends at element " +
                        (end == UINT64_MAX ? "2^64" : std::to_string(end)) + " of " +
                        std::to_string(box.element_bytes) + " bytes, the memory has " +
                        std::to_string(box.memory_bytes) + " bytes");
  if (box.access == MemoryAccess::kWrite)
    if (auto unique = check_unique(box.count, *strides); !unique) return failure(unique.error());
  MemoryPlacement placement{.offset = *offset * box.element_bytes, .strides = *strides};
  for (std::size_t d = 0; d < dimensions; ++d)
    placement.strides[d] *= box.count[d] > 1 ? box.element_bytes : 0;
  return placement;
}

}  // namespace forebay::format
