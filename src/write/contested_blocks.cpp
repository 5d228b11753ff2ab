// SPDX-License-Identifier: Apache-2.0
#include "write/contested_blocks.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "format/box_overlap.hpp"

namespace forebay::write {

namespace {

/// A block, and the number of its rank.
struct PutBlock {
  const BlockRecord* block;
  std::size_t by;
};

/// All blocks of one field, in the order of ranks.
struct PutField {
  const format::FieldDefinition* definition;
  std::vector<PutBlock> blocks;
};
using PutFields = std::map<std::string_view, PutField>;

PutFields fields_of(std::span<const RankStep> steps) {
  PutFields fields;
  for (std::size_t by = 0; by < steps.size(); ++by) {
    std::vector<PutField*> known;
    for (const format::FieldDefinition& field : steps[by].fields)
      known.push_back(&fields.try_emplace(field.name, PutField{&field, {}}).first->second);
    for (const BlockRecord& block : steps[by].blocks)
      known[block.field]->blocks.push_back({&block, by});
  }
  return fields;
}

/// "4 x 4 elements from 0, 8 on".
std::string text_of_box(const format::Box& box) {
  std::string counts;
  std::string starts;
  for (std::size_t d = 0; d < box.start.size(); ++d) {
    counts += (d == 0 ? "" : " x ") + std::to_string(box.count[d]);
    starts += (d == 0 ? "" : ", ") + std::to_string(box.start[d]);
  }
  return counts + " elements from " + starts + " on";
}

class Contest {
 public:
  Contest(std::span<const RankStep> steps, std::span<const std::uint32_t> ranks)
      : steps_(steps), ranks_(ranks) {}

  Status check(PutField field) const {
    return field.definition->kind == format::FieldKind::kParts ? check_parts(std::move(field))
                                                               : check_boxes(std::move(field));
  }

 private:
  Status check_parts(PutField field) const {
    const auto part_of = [](const PutBlock& put) { return put.block->part; };
    const auto part_and_rank_of = [](const PutBlock& put) {
      return std::pair(put.block->part, put.by);
    };
    std::ranges::sort(field.blocks, {}, part_and_rank_of);
    const auto found = std::ranges::adjacent_find(field.blocks, {}, part_of);
    if (found == field.blocks.end()) return {};
    const std::size_t first = found->by;
    const std::size_t other = std::next(found)->by;
    const std::string by = first == other
                               ? "twice by rank " + number_of(other)
                               : "by ranks " + number_of(first) + " and " + number_of(other);
    return contested(other, "part " + std::to_string(found->block->part) + " of field " +
                                field.definition->name + " was put " + by);
  }

  Status check_boxes(PutField field) const {
    std::erase_if(field.blocks, [](const PutBlock& put) { return put.block->raw_bytes == 0; });
    std::vector<format::Box> boxes;
    boxes.reserve(field.blocks.size());
    for (const PutBlock& put : field.blocks)
      boxes.push_back(box_of(put, field.definition->dimensions));
    const auto overlap = format::find_overlap(boxes);
    if (!overlap) return {};
    const auto [first, other] = *overlap;
    return contested(field.blocks[other].by,
                     "blocks of field " + field.definition->name + " overlap: rank " +
                         number_of(field.blocks[first].by) + " put " + text_of_box(boxes[first]) +
                         ", and rank " + number_of(field.blocks[other].by) + " put " +
                         text_of_box(boxes[other]));
  }

  format::Box box_of(const PutBlock& put, std::uint32_t dimensions) const {
    const std::span extents(steps_[put.by].extents);
    const auto start = extents.subspan(put.block->first_extent, dimensions);
    const auto count = extents.subspan(put.block->first_extent + dimensions, dimensions);
    return {{start.begin(), start.end()}, {count.begin(), count.end()}};
  }
  std::string number_of(std::size_t by) const { return std::to_string(ranks_[by]); }
  Status contested(std::size_t by, std::string cause) const {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "write step " + std::to_string(steps_[by].step),
                    .cause = std::move(cause),
                    .rank = ranks_[by]});
  }

  std::span<const RankStep> steps_;
  std::span<const std::uint32_t> ranks_;
};

}  // namespace

Status check_uncontested(std::span<const RankStep> steps, std::span<const std::uint32_t> ranks) {
  const Contest contest(steps, ranks);
  PutFields fields = fields_of(steps);
  for (auto& [name, field] : fields)
    if (Status checked = contest.check(std::move(field)); !checked) return checked;
  return {};
}

}  // namespace forebay::write
