// SPDX-License-Identifier: Apache-2.0
#include "flow/part_store.hpp"

#include <fmt/format.h>

namespace forebay::flow {

Error PartStepReader::shape_error(const ArrayName& name) {
  return Error({.kind = ErrorClass::kDamage,
                .operation = "read array",
                .cause = fmt::format("array {} of part {} has another type or width than the "
                                     "program expects",
                                     name.name, name.part)});
}

Status StepOrder::advance(std::uint64_t step) {
  if (last_ && step <= *last_) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "begin step",
                    .cause = fmt::format("step {} is not above step {}, which exists or was begun",
                                         step, *last_)});
  }
  last_ = step;
  return {};
}

}  // namespace forebay::flow
