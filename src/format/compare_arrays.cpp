// SPDX-License-Identifier: Apache-2.0
// Blocks of the left step are held in batches. Each block of the right step that overlaps a batch
// is read once for the whole batch. Otherwise a comparison of rows with columns would read each
// column for each row.
#include <algorithm>
#include <tuple>
#include <utility>

#include "format/block_reader.hpp"
#include "format/comparison.hpp"

namespace forebay::format {
namespace {

/// The intersection of two boxes; its count is 0 in some dimension if they share no element.
Box intersection(const Box& a, const Box& b) {
  Box shared = a;
  for (std::size_t d = 0; d < a.start.size(); ++d) {
    const ByteRange range = forebay::intersect({a.start[d], a.count[d]}, {b.start[d], b.count[d]});
    shared.start[d] = range.offset;
    shared.count[d] = range.size;
  }
  return shared;
}

std::uint64_t element_count(const Box& box) noexcept {
  std::uint64_t elements = 1;
  for (const std::uint64_t count : box.count)
    elements *= count;
  return elements;
}

/// Position of an element of the array in a block that contains it, in elements.
std::uint64_t linear_index(const Box& block, std::span<const std::uint64_t> element) noexcept {
  std::uint64_t location = 0;
  for (std::size_t d = 0; d < element.size(); ++d)
    location = location * block.count[d] + element[d] - block.start[d];
  return location;
}

/// Moves to the first element of the next row of the box; false behind the last one.
bool next_row(const Box& box, std::vector<std::uint64_t>& element) noexcept {
  for (std::size_t d = element.size() - 1; d-- > 0;) {
    if (++element[d] < box.start[d] + box.count[d]) return true;
    element[d] = box.start[d];
  }
  return false;
}

Box box_of(const StepCatalog& step, const BlockLocation& location) {
  return step.index(location).box(location.field, location.number);
}

/// A left block of the batch. Blocks without counterpart on the right are kept without bytes, so
/// that differences are added in the order of blocks.
struct LeftBlock {
  Box box;
  std::vector<std::byte> bytes;
  BlockDifference difference;
  std::uint64_t compared = 0;  ///< elements that the right step has, too
};

/// A block of the right step that shares elements with a held left block.
struct BlockOverlap {
  BlockLocation right;
  std::size_t left_index = 0;
};

/// Memory of a held block: for a small one more than its bytes.
std::uint64_t batch_entry_bytes(const Box& box,
                                std::uint64_t bytes,
                                std::size_t overlaps) noexcept {
  return sizeof(LeftBlock) + 2 * box.start.size() * sizeof(std::uint64_t) + bytes +
         overlaps * sizeof(BlockOverlap);
}

class ArrayDiff {
 public:
  ArrayDiff(Comparison& comparison, const FieldDefinition& definition)
      : comparison_(comparison), definition_(definition) {
    result_.name = definition.name;
  }

  Result<FieldDifference> run() {
    for (const BlockLocation& location : comparison_.left.blocks(definition_.name)) {
      ++comparison_.report.blocks_compared;
      if (const Status done = add_block(location); !done) return tl::unexpected(done.error());
    }
    if (const Status done = compare_batch(); !done) return tl::unexpected(done.error());
    find_only_right();
    return std::move(result_);
  }

 private:
  Status add_block(const BlockLocation& location);
  bool has_equal_block(const BlockLocation& location, const BlockLocation& other) const;
  Status reserve_batch(std::uint64_t bytes);
  Status add_to_batch(const BlockLocation& location,
                      Box box,
                      std::span<const BlockLocation> others);
  Status compare_batch();
  Status compare_right_block(const BlockLocation& right, std::span<const BlockOverlap> overlaps);
  Status compare_intersection(LeftBlock& left_block,
                              const Box& other,
                              std::span<const std::byte> others);
  Status compare_row(LeftBlock& left_block,
                     std::uint64_t first,
                     std::span<const std::byte> row,
                     std::span<const std::byte> others_row);
  Status finish_block(LeftBlock& left_block);
  void find_only_right();
  std::uint64_t element_bytes() const noexcept { return element_size(definition_.type); }

  Comparison& comparison_;
  const FieldDefinition& definition_;
  BlockReader left_reader_;
  BlockReader right_reader_;
  std::vector<LeftBlock> batch_;
  std::vector<BlockOverlap> overlaps_;
  std::uint64_t batch_bytes_ = 0;
  std::uint64_t unreported_bytes_ = 0;  // compared since the last progress
  FieldDifference result_;
};

Status ArrayDiff::add_block(const BlockLocation& location) {
  Box box = box_of(comparison_.left, location);
  const auto others = comparison_.right.find_blocks(definition_.name, box);
  if (!others) return tl::unexpected(others.error());
  if (others->size() == 1 && has_equal_block(location, others->front())) {
    ++comparison_.report.blocks_matched_by_checksum;
    return comparison_.advance(comparison_.left.block(location).raw_bytes);
  }
  return add_to_batch(location, std::move(box), *others);
}

bool ArrayDiff::has_equal_block(const BlockLocation& location, const BlockLocation& other) const {
  return box_of(comparison_.left, location) == box_of(comparison_.right, other) &&
         comparison_.has_equal_checksum(location, other);
}

Status ArrayDiff::reserve_batch(std::uint64_t bytes) {
  const bool is_full = batch_bytes_ + bytes > comparison_.options.batch_bytes;
  Status done = is_full && !batch_.empty() ? compare_batch() : Status{};
  batch_bytes_ += bytes;
  return done;
}

Status ArrayDiff::add_to_batch(const BlockLocation& location,
                               Box box,
                               std::span<const BlockLocation> others) {
  const Block block = comparison_.left.block(location);
  const bool has_overlaps = !others.empty();
  const std::uint64_t bytes = has_overlaps ? block.raw_bytes : 0;
  if (Status done = reserve_batch(batch_entry_bytes(box, bytes, others.size())); !done) return done;
  LeftBlock left_block = {.box = std::move(box), .bytes = {}, .difference = {.key = block.key}};
  if (has_overlaps) {
    auto read = left_reader_.read(comparison_.left, location);
    if (!read) return tl::unexpected(read.error());
    ++comparison_.report.blocks_read;
    left_block.bytes = std::move(*read);
  }
  for (const BlockLocation& other : others)
    overlaps_.push_back({other, batch_.size()});
  batch_.push_back(std::move(left_block));
  return comparison_.advance(0);
}

Status ArrayDiff::compare_batch() {
  std::ranges::sort(overlaps_, {}, [](const BlockOverlap& overlap) {
    return std::tuple(overlap.right.file, overlap.right.number, overlap.left_index);
  });
  for (auto first = overlaps_.begin(); first != overlaps_.end();) {
    const BlockLocation right = first->right;
    const auto last = std::find_if(first, overlaps_.end(), [&](const BlockOverlap& overlap) {
      return overlap.right != right;
    });
    if (Status done = compare_right_block(right, {first, last}); !done) return done;
    first = last;
  }
  for (LeftBlock& left_block : batch_)
    if (Status done = finish_block(left_block); !done) return done;
  overlaps_.clear();
  batch_.clear();
  batch_bytes_ = 0;
  return {};
}

Status ArrayDiff::compare_right_block(const BlockLocation& right,
                                      std::span<const BlockOverlap> overlaps) {
  const auto others = right_reader_.read(comparison_.right, right);
  if (!others) return tl::unexpected(others.error());
  ++comparison_.report.blocks_read;
  const Box other = box_of(comparison_.right, right);
  for (const BlockOverlap& overlap : overlaps) {
    const Status done = compare_intersection(batch_[overlap.left_index], other, *others);
    if (!done) return done;
  }
  return comparison_.advance(std::exchange(unreported_bytes_, 0));
}

Status ArrayDiff::compare_intersection(LeftBlock& left_block,
                                       const Box& other,
                                       std::span<const std::byte> others) {
  const Box shared = intersection(left_block.box, other);
  const std::uint64_t row_bytes = shared.count.back() * element_bytes();
  std::vector<std::uint64_t> element = shared.start;
  do {
    const std::uint64_t at = linear_index(left_block.box, element);
    const auto row = std::span(left_block.bytes).subspan(at * element_bytes(), row_bytes);
    const auto others_row =
        others.subspan(linear_index(other, element) * element_bytes(), row_bytes);
    if (const Status done = compare_row(left_block, at, row, others_row); !done) return done;
  } while (next_row(shared, element));
  left_block.compared += element_count(shared);
  return {};
}

/// Reports progress after each piece, as a row may be the whole block.
Status ArrayDiff::compare_row(LeftBlock& left_block,
                              std::uint64_t first,
                              std::span<const std::byte> row,
                              std::span<const std::byte> others_row) {
  for (std::size_t offset = 0; offset < row.size(); offset += kPieceBytes) {
    const std::size_t size = std::min<std::size_t>(kPieceBytes, row.size() - offset);
    merge_difference(left_block.difference,
                     compare_elements(definition_.type, definition_.order,
                                      row.subspan(offset, size), others_row.subspan(offset, size)),
                     first + offset / element_bytes());
    unreported_bytes_ += size;
    if (unreported_bytes_ < kPieceBytes) continue;
    const Status done = comparison_.advance(std::exchange(unreported_bytes_, 0));
    if (!done) return done;
  }
  return {};
}

/// No two blocks of a step share an element, so the sum shows whether all elements are on both
/// sides.
Status ArrayDiff::finish_block(LeftBlock& left_block) {
  const std::uint64_t elements = element_count(left_block.box);
  BlockDifference& difference = left_block.difference;
  if (left_block.compared == 0) {
    difference.kind = BlockDifference::Kind::kOnlyLeft;
  } else if (difference.elements == 0 && left_block.compared < elements) {
    difference.kind = BlockDifference::Kind::kShape;
  }
  const bool differs = difference.elements > 0 || left_block.compared < elements;
  if (differs) comparison_.add_difference(difference, result_);
  return comparison_.advance((elements - left_block.compared) * element_bytes());
}

void ArrayDiff::find_only_right() {
  for (const BlockLocation& location : comparison_.right.blocks(definition_.name)) {
    const Box box = box_of(comparison_.right, location);
    const auto others = comparison_.left.find_blocks(definition_.name, box);
    std::uint64_t on_both = 0;
    for (const BlockLocation& other : others.value())
      on_both += element_count(intersection(box, box_of(comparison_.left, other)));
    if (on_both == element_count(box)) continue;
    comparison_.add_difference(
        {.kind = BlockDifference::Kind::kOnlyRight, .key = comparison_.right.block(location).key},
        result_);
  }
}

}  // namespace

Result<FieldDifference> compare_arrays(Comparison& comparison, const FieldDefinition& definition) {
  return ArrayDiff(comparison, definition).run();
}

}  // namespace forebay::format
