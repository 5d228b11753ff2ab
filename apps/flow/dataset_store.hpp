// SPDX-License-Identifier: Apache-2.0
// Forebay's datasets as a store: a step of the solver is a step of a dataset, an array a field with
// its parts, rows of `width` elements the second dimension of a shape. commit() comes back at once:
// agents write while the solver computes, and what became of it is known later, by wait() at the
// latest. Any team reads what any other has written.
#pragma once

#include <forebay/runtime.hpp>
#include <forebay/write_plan.hpp>

#include <optional>

#include "flow/part_store.hpp"

namespace forebay::flow {

/// Opens datasets by `runtime`, which must outlive what is opened. To write, its ranks and those of
/// the team must be the same (kInvalidArgument otherwise); to read, they may also be those of one
/// process alone. Steps are written by `plan`; without one, as Runtime::dataset() chooses.
StoreOpener dataset_opener(Runtime& runtime, const std::optional<WritePlan>& plan = std::nullopt);

}  // namespace forebay::flow
