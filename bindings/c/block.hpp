// SPDX-License-Identifier: Apache-2.0
// A forebay_block that was checked, as StepWriter and StepReader take it.
#pragma once

#include <forebay/range.hpp>

#include <optional>

#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"

namespace forebay::bindings {

struct Block {
  Block(const char* called, const forebay_block* block) : operation(called) {
    const auto given = read_struct(operation, block);
    if (given.field == nullptr) refuse_argument(operation, "field of the block is NULL");
    field = given.field;
    type = element_type_of_number(operation, given.type);
    count = shape_of({operation, "count"}, given.count, given.dimensions);
    part = {given.part};
    fill = given.fill;
    if (given.global_shape != nullptr)
      box = Subarray{
          .shape = shape_of({operation, "global_shape"}, given.global_shape, given.dimensions),
          .start = shape_of({operation, "start"}, given.start, given.dimensions),
          .count = count};
  }

  /// Size of its elements.
  std::uint64_t bytes() const { return bytes_of(operation, count, element_size(type)); }

  const char* operation;
  std::string field;
  ElementType type = ElementType::kBytes;
  Shape count;
  Part part;
  std::optional<Subarray> box;  ///< of a global array; else a part
  const void* fill = nullptr;
};

}  // namespace forebay::bindings
