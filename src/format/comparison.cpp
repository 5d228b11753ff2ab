// SPDX-License-Identifier: Apache-2.0
#include "format/comparison.hpp"

#include <algorithm>

namespace forebay::format {

bool Comparison::has_equal_checksum(const BlockLocation& in_left,
                                    const BlockLocation& in_right) const {
  const IndexId& a = left.index(in_left).header().id;
  const IndexId& b = right.index(in_right).header().id;
  const Block one = left.block(in_left);
  const Block other = right.block(in_right);
  return a.dataset == b.dataset && a.step == b.step && one.key == other.key &&
         one.raw_bytes == other.raw_bytes && one.checksum == other.checksum;
}

Status Comparison::advance(std::uint64_t bytes) {
  progress.done_bytes += bytes;
  if (!options.progress || options.progress(progress)) return {};
  return failure({.kind = ErrorClass::kCancelled, .operation = "compare steps"});
}

void Comparison::add_difference(const BlockDifference& difference, FieldDifference& field) const {
  ++field.differing_blocks;
  field.absolute_max = std::max(field.absolute_max, difference.absolute_max);
  field.relative_max = std::max(field.relative_max, difference.relative_max);
  if (field.blocks.size() < options.blocks_max) field.blocks.push_back(difference);
}

void merge_difference(BlockDifference& block, const ArrayDifference& found, std::uint64_t first) {
  if (found.elements == 0) return;
  const std::uint64_t element = first + found.first_element;
  block.first_element = block.elements == 0 ? element : std::min(block.first_element, element);
  block.elements += found.elements;
  block.absolute_max = std::max(block.absolute_max, found.absolute_max);
  block.relative_max = std::max(block.relative_max, found.relative_max);
}

}  // namespace forebay::format
