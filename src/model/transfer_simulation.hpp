// SPDX-License-Identifier: Apache-2.0
// simulate_transfer(): the cost of a plan, by the event model. It is exact where the formula is
// not, and fast enough for choosing plans: about a microsecond for each part of a request.
#pragma once

#include "model/queueing.hpp"
#include "model/storage_model.hpp"

namespace forebay::model {

/// Time of the last completion with agents x depth requests in flight while any remain. Each
/// completion is followed at once by the next request, from the next client in turn. Locks follow
/// the machine. `plan.clients` is at most the machine's.
Time simulate_transfer(const Machine& machine, const TransferPlan& plan);

}  // namespace forebay::model
