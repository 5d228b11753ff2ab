// SPDX-License-Identifier: Apache-2.0
// simulate_step(): a step simulated event by event: exchange, creation and opening of files,
// allocation and writes, indexes, syncs, publication. step_cost() approximates the same by
// formulas. Takes about a microsecond for each request fragment (RPC).
#pragma once

#include "model/storage_model.hpp"
#include "write/plan.hpp"

namespace forebay::write {

/// Times since the ranks had the bytes of the step in memory.
struct SimulatedStep {
  model::Time files_opened = {};  ///< the last file is created, and opened by all its writers
  model::Time exchanged = {};     ///< the last byte is at its writer
  model::Time written = {};       ///< the last byte of a field is written
  /// Indexes are written, data files and their directory synced, the slot of the step is written
  /// and synced. A writer on another node than the owner of its file syncs before the index, once;
  /// a real one syncs once for each rank.
  model::Time durable = {};
};

/// `plan` must be complete; `facts` must have a machine and step_bytes. Nodes are the machine's
/// clients; several nodes share a client if there are more nodes.
SimulatedStep simulate_step(const WriteFacts& facts, const WritePlan& plan);

/// Time until the last byte of a field is written, without exchange: the writers have all bytes at
/// the start.
model::Time simulate_write_time(const WriteFacts& facts, const WritePlan& plan);

}  // namespace forebay::write
