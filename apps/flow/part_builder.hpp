// SPDX-License-Identifier: Apache-2.0
// Builds a part of a mesh with all data that its solver needs, without the other parts.
#pragma once

#include <cstdint>

#include "flow/mesh.hpp"
#include "flow/mesh_part.hpp"
#include "flow/partition.hpp"

namespace forebay::flow {

/// Pure. `number` is below the partition's part count.
MeshPart build_part(const Mesh& mesh, const Partition& partition, std::uint32_t number);

}  // namespace forebay::flow
