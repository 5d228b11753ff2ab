// SPDX-License-Identifier: Apache-2.0
#include "flow/part_store.hpp"

#include <fmt/format.h>

namespace forebay::flow {

Error StepReader::other_shape(const ArrayName& name) {
  return Error({.kind = ErrorClass::kDamage,
                .operation = "read array",
                .cause = fmt::format("array {} of part {} has another type or width than this "
                                     "program's",
                                     name.name, name.part)});
}

Status RisingSteps::begin(std::uint64_t step) {
  if (last_ && step <= *last_) {
    return failure(
        {.kind = ErrorClass::kInvalidArgument,
         .operation = "begin step",
         .cause = fmt::format("step {} is not above step {}, which is there or was begun", step,
                              *last_)});
  }
  last_ = step;
  return {};
}

}  // namespace forebay::flow
