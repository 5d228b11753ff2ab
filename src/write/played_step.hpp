// SPDX-License-Identifier: Apache-2.0
// What storage does with a step, played event by event: files are created and opened, writers take
// places and write them. Exact where step_cost() is a formula; about a microsecond for each part of
// a request.
#pragma once

#include "model/storage_model.hpp"
#include "write/plan.hpp"

namespace forebay::write {

/// Until the last byte is written, all bytes being at their writers from the beginning. `plan` is
/// complete; `facts` have a machine and step_bytes. Nodes are the machine's clients, several of
/// them one client where there are more.
model::Time played_step_time(const WriteFacts& facts, const WritePlan& plan);

}  // namespace forebay::write
