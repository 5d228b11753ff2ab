// SPDX-License-Identifier: Apache-2.0
// Forebay datasets as a store. A step of the solver is a step of the dataset, an array is a field
// with its parts. Rows of `width` elements are the second dimension of a shape. commit() returns at
// once: agents write while the solver computes. The outcome of a step is reported later, at the
// latest by wait(). Any number of ranks reads what any other number wrote.
#pragma once

#include <forebay/runtime.hpp>

#include "flow/part_store.hpp"

namespace forebay::flow {

/// Opens datasets with `runtime`, which must outlive the opened stores. To write, its ranks must be
/// those of the communicator (kInvalidArgument otherwise). To read, it may also have this process
/// as its only rank. Steps are written with `options`, which are read on the first rank.
StoreOpener dataset_opener(Runtime& runtime, const DatasetOptions& options = {});

}  // namespace forebay::flow
