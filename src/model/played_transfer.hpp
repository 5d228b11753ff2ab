// SPDX-License-Identifier: Apache-2.0
// What a plan costs, played through in the event model: exact where a formula cannot be, and quick
// enough to choose by, at about a microsecond for each part of a request.
#pragma once

#include "model/queueing.hpp"
#include "model/storage_model.hpp"

namespace forebay::model {

/// Until the last answer, if agents x depth requests are under way as long as there are any: the
/// next begins as soon as one is answered, by the next client in turn. Locks are taken as the
/// machine says. `plan.clients` is at most the machine's.
Time played_transfer_time(const Machine& machine, const TransferPlan& plan);

}  // namespace forebay::model
