// SPDX-License-Identifier: Apache-2.0
// What becomes of a step, played event by event: bytes are handed over, files are created and
// opened, writers take places and write them, indexes follow, and the step is published. Exact
// where step_cost() is a formula; about a microsecond for each part of a request.
#pragma once

#include "model/storage_model.hpp"
#include "write/plan.hpp"

namespace forebay::write {

/// Times since the ranks had the step's bytes in memory.
struct PlayedStep {
  model::Time named = {};    ///< the last file is created, and opened by all who write to it
  model::Time handed = {};   ///< the last byte is at its writer
  model::Time written = {};  ///< the last byte of a field is written
  model::Time durable = {};  ///< so are the indexes of all files, and the slot that publishes it
};

/// `plan` is complete; `facts` have a machine and step_bytes. Nodes are the machine's clients,
/// several of them one client where there are more.
PlayedStep played_step(const WriteFacts& facts, const WritePlan& plan);

/// Storage alone: until the last byte of a field is written, were all bytes at their writers from
/// the beginning.
model::Time played_step_time(const WriteFacts& facts, const WritePlan& plan);

}  // namespace forebay::write
