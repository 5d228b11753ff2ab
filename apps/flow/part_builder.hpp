// SPDX-License-Identifier: Apache-2.0
// A part of a cut mesh with everything that its solver needs, made without the other parts.
#pragma once

#include <cstdint>

#include "flow/mesh.hpp"
#include "flow/part.hpp"
#include "flow/partition.hpp"

namespace forebay::flow {

/// Pure. `number` is below the partition's count.
Part make_part(const Mesh& mesh, const Partition& partition, std::uint32_t number);

}  // namespace forebay::flow
