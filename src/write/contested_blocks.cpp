// SPDX-License-Identifier: Apache-2.0
#include "write/contested_blocks.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

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

class Contest {
 public:
  Contest(std::span<const RankStep> steps, std::span<const std::uint32_t> ranks)
      : steps_(steps), ranks_(ranks) {}

  Status check_parts(PutField field) const {
    const auto part_of = [](const PutBlock& put) { return put.block->part; };
    std::ranges::stable_sort(field.blocks, {}, part_of);  // by rank within a part
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

 private:
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
    if (field.definition->kind == format::FieldKind::kParts)
      if (Status checked = contest.check_parts(std::move(field)); !checked) return checked;
  return {};
}

}  // namespace forebay::write
