// SPDX-License-Identifier: Apache-2.0
#include "format/diff.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "format/block_reader.hpp"
#include "format/contested.hpp"
#include "format/numbers.hpp"

namespace forebay::format {
namespace {

/// What two boxes share; they do share something.
Box shared_box(const Box& a, const Box& b) {
  Box shared = a;
  for (std::size_t d = 0; d < a.start.size(); ++d) {
    const ByteRange range = forebay::intersect({a.start[d], a.count[d]}, {b.start[d], b.count[d]});
    shared.start[d] = range.offset;
    shared.count[d] = range.size;
  }
  return shared;
}

std::uint64_t elements_of(const Box& box) noexcept {
  std::uint64_t elements = 1;
  for (const std::uint64_t count : box.count)
    elements *= count;
  return elements;
}

/// Where an element of the array lies in a block that has it, in elements.
std::uint64_t place_in(const Box& block, std::span<const std::uint64_t> element) noexcept {
  std::uint64_t place = 0;
  for (std::size_t d = 0; d < element.size(); ++d)
    place = place * block.count[d] + element[d] - block.start[d];
  return place;
}

/// Goes to the first element of the next row of the box; false behind the last one.
bool next_row(const Box& box, std::vector<std::uint64_t>& element) noexcept {
  for (std::size_t d = element.size() - 1; d-- > 0;) {
    if (++element[d] < box.start[d] + box.count[d]) return true;
    element[d] = box.start[d];
  }
  return false;
}

/// Takes the differences of a stretch of elements that begins at `first` into those of a block.
void take_in(BlockDifference& block, const NumberDifference& found, std::uint64_t first) {
  if (found.elements == 0) return;
  // Boxes of the other side come in any order.
  const std::uint64_t element = first + found.first_element;
  block.first_element = block.elements == 0 ? element : std::min(block.first_element, element);
  block.elements += found.elements;
  block.absolute_max = std::max(block.absolute_max, found.absolute_max);
  block.relative_max = std::max(block.relative_max, found.relative_max);
}

/// One field that both steps have, defined alike.
class FieldDiff {
 public:
  FieldDiff(const StepCatalog& left,
            const StepCatalog& right,
            const FieldDefinition& definition,
            const DiffOptions& options,
            ReadProgress& progress)
      : left_(left),
        right_(right),
        definition_(definition),
        options_(options),
        progress_(progress) {
    result_.name = definition.name;
  }

  Result<FieldDifference> run(DiffReport& report) {
    const std::vector<BlockPlace> places = left_.blocks(definition_.name);
    for (const BlockPlace& place : places) {
      ++report.blocks_compared;
      const bool is_part = definition_.kind == FieldKind::kParts;
      const Status done = is_part ? compare_part(place, report) : compare_box(place, report);
      if (!done) return tl::unexpected(done.error());
      progress_.done_bytes += left_.block(place).raw_bytes;
      if (options_.progress && !options_.progress(progress_))
        return failure({.kind = ErrorClass::kCancelled, .operation = "compare steps"});
    }
    find_only_right();
    return std::move(result_);
  }

 private:
  Status compare_part(const BlockPlace& place, DiffReport& report);
  Status compare_pieces(const BlockPlace& left, const BlockPlace& right);
  Status compare_box(const BlockPlace& place, DiffReport& report);
  Status compare_shared(const BlockPlace& right,
                        const Box& box,
                        std::span<const std::byte> bytes,
                        BlockDifference& difference);
  void find_only_right();
  bool have_same_checksum(const BlockPlace& left, const BlockPlace& right) const;
  void add(const BlockDifference& difference);
  bool has_all(const StepCatalog& step, const Box& box) const;

  const StepCatalog& left_;
  const StepCatalog& right_;
  const FieldDefinition& definition_;
  const DiffOptions& options_;
  ReadProgress& progress_;
  BlockReader left_reader_;
  BlockReader right_reader_;
  std::vector<std::byte> left_bytes_;
  std::vector<std::byte> right_bytes_;
  FieldDifference result_;
};

void FieldDiff::add(const BlockDifference& difference) {
  ++result_.blocks_different;
  result_.absolute_max = std::max(result_.absolute_max, difference.absolute_max);
  result_.relative_max = std::max(result_.relative_max, difference.relative_max);
  if (result_.blocks.size() < options_.blocks_max) result_.blocks.push_back(difference);
}

/// Seeds have dataset and step in them: of others, checksums say nothing.
bool FieldDiff::have_same_checksum(const BlockPlace& left, const BlockPlace& right) const {
  const IndexPlace& a = left_.index(left).head().place;
  const IndexPlace& b = right_.index(right).head().place;
  const Block one = left_.block(left);
  const Block other = right_.block(right);
  return a.dataset == b.dataset && a.step == b.step && one.key == other.key &&
         one.raw_bytes == other.raw_bytes && one.checksum == other.checksum;
}

Status FieldDiff::compare_part(const BlockPlace& place, DiffReport& report) {
  const std::uint64_t part = left_.block(place).key;
  const auto other = right_.find_part(definition_.name, part);
  if (!other && other.error().kind() != ErrorClass::kNotFound) return tl::unexpected(other.error());
  if (!other) {
    add({.kind = BlockDifference::Kind::kOnlyLeft, .key = part});
    return {};
  }
  if (left_.index(place).shape(place.field, place.number) !=
      right_.index(*other).shape(other->field, other->number)) {
    add({.kind = BlockDifference::Kind::kShape, .key = part});
    return {};
  }
  if (have_same_checksum(place, *other)) {
    ++report.blocks_by_checksum;
    return {};
  }
  return compare_pieces(place, *other);
}

Status FieldDiff::compare_pieces(const BlockPlace& left, const BlockPlace& right) {
  const Block block = left_.block(left);
  BlockDifference difference = {.key = block.key};
  for (std::uint64_t piece = 0; piece < block.pieces(); ++piece) {
    const ByteRange range = block.raw_range(piece);
    left_bytes_.resize(range.size);
    right_bytes_.resize(range.size);
    Status read = left_reader_.read_piece(left_, left, piece, left_bytes_);
    if (read) read = right_reader_.read_piece(right_, right, piece, right_bytes_);
    if (!read) return read;
    take_in(difference, compare(definition_.type, definition_.order, left_bytes_, right_bytes_),
            range.offset / bytes_of(definition_.type));
  }
  if (difference.elements > 0) add(difference);
  return {};
}

/// No two blocks of a step share an element, so that a sum says it.
bool FieldDiff::has_all(const StepCatalog& step, const Box& box) const {
  const auto places = step.intersecting(definition_.name, box);
  std::uint64_t elements = 0;
  for (const BlockPlace& place : places.value())
    elements += elements_of(shared_box(box, step.index(place).box(place.field, place.number)));
  return elements == elements_of(box);
}

Status FieldDiff::compare_box(const BlockPlace& place, DiffReport& report) {
  const Box box = left_.index(place).box(place.field, place.number);
  const auto others = right_.intersecting(definition_.name, box);
  if (!others) return tl::unexpected(others.error());
  BlockDifference difference = {.key = left_.block(place).key};
  if (others->empty()) {
    difference.kind = BlockDifference::Kind::kOnlyLeft;
    add(difference);
    return {};
  }
  const BlockPlace& first = others->front();
  if (right_.index(first).box(first.field, first.number) == box &&
      have_same_checksum(place, first)) {
    ++report.blocks_by_checksum;
    return {};
  }
  const auto bytes = left_reader_.read(left_, place);
  if (!bytes) return tl::unexpected(bytes.error());
  for (const BlockPlace& other : *others)
    if (Status done = compare_shared(other, box, *bytes, difference); !done) return done;
  if (difference.elements == 0 && !has_all(right_, box))
    difference.kind = BlockDifference::Kind::kShape;
  if (difference.elements > 0 || difference.kind == BlockDifference::Kind::kShape) add(difference);
  return {};
}

Status FieldDiff::compare_shared(const BlockPlace& right,
                                 const Box& box,
                                 std::span<const std::byte> bytes,
                                 BlockDifference& difference) {
  const auto others = right_reader_.read(right_, right);
  if (!others) return tl::unexpected(others.error());
  const Box other = right_.index(right).box(right.field, right.number);
  const Box shared = shared_box(box, other);
  const std::uint64_t element_bytes = bytes_of(definition_.type);
  const std::uint64_t row_bytes = shared.count.back() * element_bytes;
  std::vector<std::uint64_t> element = shared.start;
  do {
    const std::uint64_t at = place_in(box, element);
    const auto row =
        std::span(*others).subspan(place_in(other, element) * element_bytes, row_bytes);
    take_in(difference,
            compare(definition_.type, definition_.order,
                    bytes.subspan(at * element_bytes, row_bytes), row),
            at);
  } while (next_row(shared, element));
  return {};
}

void FieldDiff::find_only_right() {
  for (const BlockPlace& place : right_.blocks(definition_.name)) {
    const std::uint64_t key = right_.block(place).key;
    bool is_on_both = true;
    if (definition_.kind == FieldKind::kParts) {
      is_on_both = left_.find_part(definition_.name, key).has_value();
    } else {
      is_on_both = has_all(left_, right_.index(place).box(place.field, place.number));
    }
    if (!is_on_both) add({.kind = BlockDifference::Kind::kOnlyRight, .key = key});
  }
}

/// What cannot be looked up cannot be compared: parts would seem to be on one side only.
Status check_whole(const StepCatalog& step) {
  if (step.damages().empty()) return {};
  return tl::unexpected(step.damages().front());
}

/// Of two blocks with the same elements, one would hide the other.
Status check_fields(const StepCatalog& left, const StepCatalog& right, const DiffOptions& options) {
  for (const StepField& field : left.fields()) {
    const StepField* other = right.find_field(field.definition.name);
    const bool is_wanted = !options.field || *options.field == field.definition.name;
    if (!is_wanted || other == nullptr || field.definition != other->definition) continue;
    Status clear = check_uncontested(left, field, "compare");
    if (clear) clear = check_uncontested(right, *other, "compare");
    if (!clear) return clear;
  }
  return {};
}

}  // namespace

Result<DiffReport> diff(const StepCatalog& left,
                        const StepCatalog& right,
                        const DiffOptions& options) {
  for (const StepCatalog* step : {&left, &right})
    if (const Status whole = check_whole(*step); !whole) return tl::unexpected(whole.error());
  if (const Status clear = check_fields(left, right, options); !clear)
    return tl::unexpected(clear.error());
  const auto is_wanted = [&](const StepField& field) {
    return !options.field || *options.field == field.definition.name;
  };
  DiffReport report;
  std::set<std::string> names;
  for (const StepCatalog* step : {&left, &right})
    for (const StepField& field : step->fields())
      if (is_wanted(field)) names.insert(field.definition.name);
  ReadProgress progress;
  for (const StepField& field : left.fields())
    if (is_wanted(field) && right.find_field(field.definition.name) != nullptr)
      progress.all_bytes += field.raw_bytes;
  for (const std::string& name : names) {
    const StepField* one = left.find_field(name);
    const StepField* other = right.find_field(name);
    if (one == nullptr || other == nullptr || one->definition != other->definition) {
      const DifferenceKind kind = other == nullptr ? DifferenceKind::kOnlyLeft
                                  : one == nullptr ? DifferenceKind::kOnlyRight
                                                   : DifferenceKind::kDefinition;
      report.fields.push_back({.name = name, .kind = kind});
      continue;
    }
    ++report.fields_compared;
    auto field = FieldDiff(left, right, one->definition, options, progress).run(report);
    if (!field) return tl::unexpected(field.error());
    if (field->blocks_different > 0) report.fields.push_back(std::move(*field));
  }
  return report;
}

}  // namespace forebay::format
