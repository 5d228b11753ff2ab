// SPDX-License-Identifier: Apache-2.0
// A mesh in parts in a store: step 0, with arrays for each part, as docs/guides/flow.md lists them.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <memory>

#include "flow/mesh_part.hpp"
#include "flow/part_store.hpp"

namespace forebay::flow {

inline constexpr std::uint64_t kMeshStep = 0;

struct MeshInfo {
  std::uint64_t parts = 0;
  std::uint64_t nodes = 0;     ///< of the whole mesh
  std::uint64_t elements = 0;  ///< of the whole mesh
  std::uint64_t seed = 0;
};

/// Puts an array of part 0.
Status put_mesh_info(PartStepWriter& step, const MeshInfo& info);
Result<MeshInfo> get_mesh_info(PartStepReader& step);

Status put_part(PartStepWriter& step, const MeshPart& part);
/// Reads a part and checks it: kDamage, with the array's name, if its content is invalid.
/// check_neighbors() compares it with its neighbors.
Result<MeshPart> get_part(PartStepReader& step, std::uint32_t number, const MeshInfo& info);

}  // namespace forebay::flow
