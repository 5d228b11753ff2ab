// SPDX-License-Identifier: Apache-2.0
// Makes a cut mesh in a store. Every rank makes and writes the parts that it would have in a run.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>

#include "command/progress.hpp"
#include "command/report.hpp"
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

/// Collective. The document of apps/flow/README.md, on rank 0; an empty one on the others.
Result<command::Json> generate(const GenerateOptions& options,
                               const StoreOpener& open_store,
                               Team& team);

}  // namespace forebay::flow
