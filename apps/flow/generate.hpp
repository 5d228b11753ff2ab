// SPDX-License-Identifier: Apache-2.0
// Generates a mesh in parts in a store. Each rank generates and writes the parts that it would have
// in a run.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>

#include "command/command_result.hpp"
#include "command/progress.hpp"
#include "flow/mesh.hpp"
#include "flow/part_store.hpp"
#include "flow/partition.hpp"

namespace forebay::flow {

struct GenerateOptions {
  std::string path;
  MeshOptions mesh;
  PartitionOptions partition;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// Collective. Returns the document of apps/flow/README.md on rank 0, an empty one on other ranks.
Result<command::Json> generate(const GenerateOptions& options,
                               const StoreOpener& open_store,
                               SolverComm& comm);

}  // namespace forebay::flow
