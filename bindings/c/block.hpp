// SPDX-License-Identifier: Apache-2.0
// A forebay_block that was checked, as StepWriter and StepReader take it.
#pragma once

#include <forebay/memory_layout.hpp>
#include <forebay/range.hpp>

#include <algorithm>
#include <optional>

#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"

namespace forebay::bindings {

struct Block {
  Block(const char* called, const forebay_block* block) : operation(called) {
    if (block == nullptr) refuse_argument(operation, "block is NULL");
    const auto given = read_struct(operation, block);
    if (given.field == nullptr) refuse_argument(operation, "field of the block is NULL");
    field = given.field;
    type = element_type_of_number(operation, given.type);
    count = shape_of({operation, "count"}, given.count, given.dimensions);
    part = {given.part};
    fill = given.fill;
    layout = layout_of(given);
    if (given.global_shape != nullptr)
      box = Subarray{
          .shape = shape_of({operation, "global_shape"}, given.global_shape, given.dimensions),
          .start = shape_of({operation, "start"}, given.start, given.dimensions),
          .count = count};
  }

  /// Size of the memory in which its elements lie.
  std::uint64_t memory_bytes() const {
    const std::uint64_t element = element_size(type);
    if (std::ranges::count(count, 0) > 0 && !layout.strides.empty()) return 0;
    if (layout.strides.empty())
      return bytes_of(operation, layout.shape.empty() ? count : layout.shape, element);
    std::uint64_t end = 1;
    bool is_too_large = false;
    for (std::size_t d = 0; d < count.size(); ++d) {
      std::uint64_t last = 0;
      is_too_large |=
          __builtin_add_overflow(layout.start.empty() ? 0 : layout.start[d], count[d] - 1, &last);
      is_too_large |= __builtin_mul_overflow(last, layout.strides[d], &last);
      is_too_large |= __builtin_add_overflow(end, last, &end);
    }
    if (is_too_large || __builtin_mul_overflow(end, element, &end))
      refuse_argument(operation, "start, count and strides reach past 2^64 bytes of memory");
    return end;
  }

  const char* operation;
  std::string field;
  ElementType type = ElementType::kBytes;
  Shape count;
  Part part;
  std::optional<Subarray> box;  ///< of a global array; else a part
  const void* fill = nullptr;
  MemoryLayout layout;

 private:
  Shape optional_shape(const char* name, const std::uint64_t* numbers) const {
    if (numbers == nullptr) return {};
    return shape_of({operation, name}, numbers, static_cast<std::uint32_t>(count.size()));
  }
  MemoryLayout layout_of(const forebay_block& given) const {
    return {.shape = optional_shape("memory_shape", given.memory_shape),
            .start = optional_shape("memory_start", given.memory_start),
            .order = order_of(operation, given.memory_order),
            .strides = optional_shape("memory_strides", given.memory_strides)};
  }
};

}  // namespace forebay::bindings
