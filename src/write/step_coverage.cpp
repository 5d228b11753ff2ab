// SPDX-License-Identifier: Apache-2.0
#include "write/step_coverage.hpp"

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

/// Minimum size of a field in a message: four lengths and the dimensions.
constexpr std::size_t kFieldBytesMin = 36;

using CoverageByField = std::map<std::string, FieldCoverage>;

void add_coverage(FieldCoverage& coverage,
                  const RankMetadata& metadata,
                  const BlockRecord& block,
                  std::uint32_t rank) {
  if (coverage.dimensions == 0)
    return coverage.parts.push_back({.first = block.part, .rank = rank});
  if (block.raw_bytes == 0) return;
  const auto box =
      std::span(metadata.dims).subspan(block.first_dim, std::size_t{2} * coverage.dimensions);
  coverage.boxes.insert(coverage.boxes.end(), box.begin(), box.end());
  coverage.box_ranks.push_back(rank);
}

bool is_before(const PartRange& a, const PartRange& b) {
  return a.first != b.first ? a.first < b.first : a.rank < b.rank;
}

/// Merges runs that are sorted already: usually one for each file or rank.
void sort_parts(std::vector<PartRange>& parts) {
  const auto at = [&parts](std::size_t number) {
    return parts.begin() + static_cast<std::ptrdiff_t>(number);
  };
  std::vector<std::size_t> ends;
  for (std::size_t end = 0; end < parts.size(); ends.push_back(end)) {
    const auto next = std::ranges::is_sorted_until(at(end), parts.end(), is_before);
    end = static_cast<std::size_t>(next - parts.begin());
  }
  while (ends.size() > 1) {
    std::vector<PartRange> merged;
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

/// Joins ranges of consecutive parts. A part that was put twice stays in two ranges.
void join_consecutive(std::vector<PartRange>& parts) {
  if (parts.empty()) return;
  std::size_t last = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    PartRange& before = parts[last];
    const bool follows =
        parts[i].rank == before.rank && parts[i].first == before.first + before.count;
    if (follows && before.count < std::numeric_limits<std::uint32_t>::max())
      ++before.count;
    else
      parts[++last] = parts[i];
  }
  parts.resize(last + 1);
}

StepCoverage sort_coverage(CoverageByField fields) {
  StepCoverage coverage;
  coverage.reserve(fields.size());
  for (auto& [name, field] : fields) {
    sort_parts(field.parts);
    coverage.push_back(std::move(field));
  }
  return coverage;
}

void append_coverage(FieldCoverage& all, const FieldCoverage& more) {
  all.parts.insert(all.parts.end(), more.parts.begin(), more.parts.end());
  all.boxes.insert(all.boxes.end(), more.boxes.begin(), more.boxes.end());
  all.box_ranks.insert(all.box_ranks.end(), more.box_ranks.begin(), more.box_ranks.end());
}

/// "4 x 4 elements from 0, 8 on".
std::string format_box(const format::Box& box) {
  std::string counts;
  std::string starts;
  for (std::size_t d = 0; d < box.start.size(); ++d) {
    counts += (d == 0 ? "" : " x ") + std::to_string(box.count[d]);
    starts += (d == 0 ? "" : ", ") + std::to_string(box.start[d]);
  }
  return counts + " elements from " + starts + " on";
}

Status overlap_error(std::uint64_t step, std::uint32_t rank, std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "write step " + std::to_string(step),
                  .cause = std::move(cause),
                  .rank = rank});
}

/// Compares adjacent ranges only: if any sorted ranges overlap, two adjacent ones do.
Status check_parts(std::uint64_t step, const FieldCoverage& field) {
  const auto shares_parts = [](const PartRange& a, const PartRange& b) {
    return b.first - a.first < a.count;
  };
  const auto found = std::ranges::adjacent_find(field.parts, shares_parts);
  if (found == field.parts.end()) return {};
  const PartRange& later = *std::next(found);
  const auto [first, other] = std::minmax(found->rank, later.rank);
  const std::string by =
      first == other ? "twice by rank " + std::to_string(other)
                     : "by ranks " + std::to_string(first) + " and " + std::to_string(other);
  return overlap_error(
      step, other,
      "part " + std::to_string(later.first) + " of field " + field.name + " was put " + by);
}

std::vector<format::Box> boxes_of(const FieldCoverage& field) {
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

Status check_box_overlaps(std::uint64_t step, const FieldCoverage& field) {
  const std::vector<format::Box> boxes = boxes_of(field);
  const auto overlap = format::find_overlap(boxes);
  if (!overlap) return {};
  auto [first, other] = *overlap;
  if (field.box_ranks[other] < field.box_ranks[first]) std::swap(first, other);
  const auto put = [&](std::size_t box) {
    return "rank " + std::to_string(field.box_ranks[box]) + " put " + format_box(boxes[box]);
  };
  return overlap_error(
      step, field.box_ranks[other],
      "blocks of field " + field.name + " overlap: " + put(first) + ", and " + put(other));
}

}  // namespace

StepCoverage coverage_of(std::span<const RankMetadata> metadata,
                         std::span<const std::uint32_t> ranks) {
  CoverageByField fields;
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    std::vector<FieldCoverage*> known;
    for (const format::FieldDefinition& field : metadata[i].fields) {
      FieldCoverage& coverage = fields[field.name];
      coverage.name = field.name;
      if (field.kind == format::FieldKind::kGlobal) coverage.dimensions = field.dimensions;
      known.push_back(&coverage);
    }
    for (const BlockRecord& block : metadata[i].blocks)
      add_coverage(*known[block.field], metadata[i], block, ranks[i]);
  }
  StepCoverage coverage = sort_coverage(std::move(fields));
  for (FieldCoverage& field : coverage)
    join_consecutive(field.parts);
  return coverage;
}

StepCoverage merge_coverage(std::vector<StepCoverage> files) {
  CoverageByField fields;
  for (StepCoverage& file : files) {
    for (FieldCoverage& field : file) {
      const auto [found, is_new] = fields.try_emplace(field.name);
      if (is_new)
        found->second = std::move(field);
      else
        append_coverage(found->second, field);
    }
    file.clear();
  }
  return sort_coverage(std::move(fields));
}

Status check_no_overlap(std::uint64_t step, const StepCoverage& coverage) {
  for (const FieldCoverage& field : coverage) {
    if (Status checked = check_parts(step, field); !checked) return checked;
    if (Status checked = check_box_overlaps(step, field); !checked) return checked;
  }
  return {};
}

comm::Bytes to_bytes(const StepCoverage& coverage) {
  comm::MessageWriter out;
  out.number(std::uint64_t{coverage.size()});
  for (const FieldCoverage& field : coverage) {
    out.text(field.name);
    out.list(std::span(field.parts));
    out.number(field.dimensions);
    out.list(std::span(field.boxes));
    out.list(std::span(field.box_ranks));
  }
  return std::move(out).take();
}

Result<StepCoverage> coverage_from_bytes(std::span<const std::byte> bytes) {
  comm::MessageReader in("coverage", bytes);
  StepCoverage coverage;
  for (std::uint64_t left = in.count("fields", kFieldBytesMin); left > 0 && in.is_valid(); --left) {
    FieldCoverage field;
    field.name = in.text("field name");
    field.parts = in.list<PartRange>("parts");
    field.dimensions = in.number<std::uint32_t>("field dimensions");
    if (field.dimensions > format::kDimensionsMax)
      in.reject("field dimensions", field.dimensions, "no field has as many");
    field.boxes = in.list<std::uint64_t>("boxes");
    field.box_ranks = in.list<std::uint32_t>("ranks of boxes");
    if (field.boxes.size() != 2 * std::uint64_t{field.dimensions} * field.box_ranks.size())
      in.reject("boxes", field.boxes.size(), "must be two numbers a dimension for each rank");
    coverage.push_back(std::move(field));
  }
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  return coverage;
}

}  // namespace forebay::write
