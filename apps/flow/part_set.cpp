// SPDX-License-Identifier: Apache-2.0
#include "flow/part_set.hpp"

#include <utility>

namespace forebay::flow {

PartSet::PartSet(PartMap map, std::uint32_t rank, std::vector<MeshPart> parts)
    : map_(std::move(map)), rank_(rank), parts_(std::move(parts)), offsets_{0} {
  for (const MeshPart& part : parts_)
    offsets_.push_back(offsets_.back() + part.node_count());
}

}  // namespace forebay::flow
