// SPDX-License-Identifier: Apache-2.0
#include "flow/part_set.hpp"

#include <utility>

namespace forebay::flow {

PartSet::PartSet(PartMap map, std::uint32_t rank, std::vector<Part> parts)
    : map_(std::move(map)), rank_(rank), parts_(std::move(parts)), first_{0} {
  for (const Part& part : parts_)
    first_.push_back(first_.back() + part.node_count());
}

}  // namespace forebay::flow
