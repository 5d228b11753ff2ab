// SPDX-License-Identifier: Apache-2.0
#include "write/contested_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "comm/message_bytes.hpp"
#include "format/box_overlap.hpp"
#include "format/records.hpp"

namespace forebay::write {

namespace {

/// Of a field in a message: four lengths and the dimensions.
constexpr std::size_t kFieldBytesMin = 36;

using ClaimsByName = std::map<std::string, FieldClaims>;

void add_block(FieldClaims& claims,
               const RankStep& step,
               const BlockRecord& block,
               std::uint32_t rank) {
  if (claims.dimensions == 0) return claims.parts.push_back({.first = block.part, .rank = rank});
  if (block.raw_bytes == 0) return;
  const auto box =
      std::span(step.extents).subspan(block.first_extent, std::size_t{2} * claims.dimensions);
  claims.boxes.insert(claims.boxes.end(), box.begin(), box.end());
  claims.box_ranks.push_back(rank);
}

bool is_before(const PartClaim& a, const PartClaim& b) {
  return a.first != b.first ? a.first < b.first : a.rank < b.rank;
}

/// Merges the runs that rise already: one for each file or rank, as a rule.
void sort(std::vector<PartClaim>& parts) {
  const auto at = [&parts](std::size_t number) {
    return parts.begin() + static_cast<std::ptrdiff_t>(number);
  };
  std::vector<std::size_t> ends;
  for (std::size_t end = 0; end < parts.size(); ends.push_back(end)) {
    const auto next = std::ranges::is_sorted_until(at(end), parts.end(), is_before);
    end = static_cast<std::size_t>(next - parts.begin());
  }
  while (ends.size() > 1) {
    std::vector<PartClaim> merged;
    merged.reserve(parts.size());
    std::vector<std::size_t> merged_ends;
    std::size_t first = 0;
    for (std::size_t i = 0; i < ends.size(); i += 2) {
      const std::size_t last = ends[std::min(i + 1, ends.size() - 1)];
      std::merge(at(first), at(ends[i]), at(ends[i]), at(last), std::back_inserter(merged),
                 is_before);
      merged_ends.push_back(first = last);
    }
    parts = std::move(merged);
    ends = std::move(merged_ends);
  }
}

/// A part that is claimed twice stays in two claims.
void join_consecutive(std::vector<PartClaim>& parts) {
  if (parts.empty()) return;
  std::size_t last = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    PartClaim& before = parts[last];
    const bool follows =
        parts[i].rank == before.rank && parts[i].first == before.first + before.count;
    if (follows && before.count < std::numeric_limits<std::uint32_t>::max())
      ++before.count;
    else
      parts[++last] = parts[i];
  }
  parts.resize(last + 1);
}

StepClaims sorted(ClaimsByName fields) {
  StepClaims claims;
  claims.reserve(fields.size());
  for (auto& [name, field] : fields) {
    sort(field.parts);
    claims.push_back(std::move(field));
  }
  return claims;
}

void append(FieldClaims& all, const FieldClaims& more) {
  all.parts.insert(all.parts.end(), more.parts.begin(), more.parts.end());
  all.boxes.insert(all.boxes.end(), more.boxes.begin(), more.boxes.end());
  all.box_ranks.insert(all.box_ranks.end(), more.box_ranks.begin(), more.box_ranks.end());
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

Status contested(std::uint64_t step, std::uint32_t rank, std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "write step " + std::to_string(step),
                  .cause = std::move(cause),
                  .rank = rank});
}

/// Claims that overlap follow each other, as all rise and those before are apart.
Status check_parts(std::uint64_t step, const FieldClaims& field) {
  const auto shares_parts = [](const PartClaim& a, const PartClaim& b) {
    return b.first - a.first < a.count;
  };
  const auto found = std::ranges::adjacent_find(field.parts, shares_parts);
  if (found == field.parts.end()) return {};
  const PartClaim& later = *std::next(found);
  const auto [first, other] = std::minmax(found->rank, later.rank);
  const std::string by =
      first == other ? "twice by rank " + std::to_string(other)
                     : "by ranks " + std::to_string(first) + " and " + std::to_string(other);
  return contested(
      step, other,
      "part " + std::to_string(later.first) + " of field " + field.name + " was put " + by);
}

std::vector<format::Box> boxes_of(const FieldClaims& field) {
  std::vector<format::Box> boxes;
  boxes.reserve(field.box_ranks.size());
  const std::size_t dimensions = field.dimensions;
  for (std::size_t i = 0; i < field.box_ranks.size(); ++i) {
    const auto box = std::span(field.boxes).subspan(2 * i * dimensions, 2 * dimensions);
    const auto start = box.first(dimensions);
    const auto count = box.last(dimensions);
    boxes.push_back({{start.begin(), start.end()}, {count.begin(), count.end()}});
  }
  return boxes;
}

Status check_boxes(std::uint64_t step, const FieldClaims& field) {
  const std::vector<format::Box> boxes = boxes_of(field);
  const auto overlap = format::find_overlap(boxes);
  if (!overlap) return {};
  auto [first, other] = *overlap;
  if (field.box_ranks[other] < field.box_ranks[first]) std::swap(first, other);
  const auto put = [&](std::size_t box) {
    return "rank " + std::to_string(field.box_ranks[box]) + " put " + text_of_box(boxes[box]);
  };
  return contested(
      step, field.box_ranks[other],
      "blocks of field " + field.name + " overlap: " + put(first) + ", and " + put(other));
}

}  // namespace

StepClaims claims_of(std::span<const RankStep> steps, std::span<const std::uint32_t> ranks) {
  ClaimsByName fields;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<FieldClaims*> known;
    for (const format::FieldDefinition& field : steps[i].fields) {
      FieldClaims& claims = fields[field.name];
      claims.name = field.name;
      if (field.kind == format::FieldKind::kGlobal) claims.dimensions = field.dimensions;
      known.push_back(&claims);
    }
    for (const BlockRecord& block : steps[i].blocks)
      add_block(*known[block.field], steps[i], block, ranks[i]);
  }
  StepClaims claims = sorted(std::move(fields));
  for (FieldClaims& field : claims)
    join_consecutive(field.parts);
  return claims;
}

StepClaims merged(std::vector<StepClaims> files) {
  ClaimsByName fields;
  for (StepClaims& file : files) {
    for (FieldClaims& field : file) {
      const auto [found, is_new] = fields.try_emplace(field.name);
      if (is_new)
        found->second = std::move(field);
      else
        append(found->second, field);
    }
    file.clear();
  }
  return sorted(std::move(fields));
}

Status check_uncontested(std::uint64_t step, const StepClaims& claims) {
  for (const FieldClaims& field : claims) {
    if (Status checked = check_parts(step, field); !checked) return checked;
    if (Status checked = check_boxes(step, field); !checked) return checked;
  }
  return {};
}

comm::Bytes to_bytes(const StepClaims& claims) {
  comm::MessageWriter out;
  out.number(std::uint64_t{claims.size()});
  for (const FieldClaims& field : claims) {
    out.text(field.name);
    out.list(std::span(field.parts));
    out.number(field.dimensions);
    out.list(std::span(field.boxes));
    out.list(std::span(field.box_ranks));
  }
  return std::move(out).take();
}

Result<StepClaims> claims_from(std::span<const std::byte> bytes) {
  comm::MessageReader in("claims", bytes);
  StepClaims claims;
  for (std::uint64_t left = in.count("fields", kFieldBytesMin); left > 0 && in.is_well(); --left) {
    FieldClaims field;
    field.name = in.text("field name");
    field.parts = in.list<PartClaim>("parts");
    field.dimensions = in.number<std::uint32_t>("field dimensions");
    if (field.dimensions > format::kDimensionsMax)
      in.reject("field dimensions", field.dimensions, "no field has as many");
    field.boxes = in.list<std::uint64_t>("boxes");
    field.box_ranks = in.list<std::uint32_t>("ranks of boxes");
    if (field.boxes.size() != 2 * std::uint64_t{field.dimensions} * field.box_ranks.size())
      in.reject("boxes", field.boxes.size(), "must be two numbers a dimension for each rank");
    claims.push_back(std::move(field));
  }
  if (Status whole = in.end(); !whole) return failure(whole.error());
  return claims;
}

}  // namespace forebay::write
