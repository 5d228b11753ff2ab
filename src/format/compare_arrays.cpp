// SPDX-License-Identifier: Apache-2.0
// Blocks of the left step are held in batches, and each block of the right step that one of a batch
// meets is read once for all of it. Otherwise rows against columns would read each column for each
// row.
#include <algorithm>
#include <tuple>

#include "format/block_reader.hpp"
#include "format/comparison.hpp"

namespace forebay::format {
namespace {

/// What two boxes share; nothing in some dimension if they share no element.
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

Box box_of(const StepCatalog& step, const BlockPlace& place) {
  return step.index(place).box(place.field, place.number);
}

/// A left block of the batch. Those that nobody on the right meets are there without bytes, so that
/// differences are added in the order of blocks.
struct Held {
  Box box;
  std::vector<std::byte> bytes;
  BlockDifference difference;
  std::uint64_t compared = 0;  ///< elements that the right step has, too
};

/// A block of the right step has elements of one that is held.
struct Meeting {
  BlockPlace right;
  std::size_t held = 0;
};

/// What a block takes in memory while it is held: small ones more than their bytes.
std::uint64_t held_bytes(const Box& box, std::uint64_t bytes, std::size_t meetings) noexcept {
  return sizeof(Held) + 2 * box.start.size() * sizeof(std::uint64_t) + bytes +
         meetings * sizeof(Meeting);
}

class ArrayDiff {
 public:
  ArrayDiff(Comparison& whole, const FieldDefinition& definition)
      : whole_(whole), definition_(definition) {
    result_.name = definition.name;
  }

  Result<FieldDifference> run() {
    for (const BlockPlace& place : whole_.left.blocks(definition_.name)) {
      ++whole_.report.blocks_compared;
      if (const Status done = take(place); !done) return tl::unexpected(done.error());
    }
    if (const Status done = compare_batch(); !done) return tl::unexpected(done.error());
    find_only_right();
    return std::move(result_);
  }

 private:
  Status take(const BlockPlace& place);
  bool is_same(const BlockPlace& place, const BlockPlace& other) const;
  Status make_room(std::uint64_t bytes);
  Status hold(const BlockPlace& place, Box box, std::span<const BlockPlace> others);
  Status compare_batch();
  Status compare_with(const BlockPlace& right, std::span<const Meeting> meetings);
  void compare_shared(Held& held, const Box& other, std::span<const std::byte> others);
  Status finish(Held& held);
  void find_only_right();
  std::uint64_t element_bytes() const noexcept { return bytes_of(definition_.type); }

  Comparison& whole_;
  const FieldDefinition& definition_;
  BlockReader left_reader_;
  BlockReader right_reader_;
  std::vector<Held> batch_;
  std::vector<Meeting> meetings_;
  std::uint64_t batch_bytes_ = 0;
  FieldDifference result_;
};

Status ArrayDiff::take(const BlockPlace& place) {
  Box box = box_of(whole_.left, place);
  const auto others = whole_.right.intersecting(definition_.name, box);
  if (!others) return tl::unexpected(others.error());
  if (others->size() == 1 && is_same(place, others->front())) {
    ++whole_.report.blocks_by_checksum;
    return whole_.advance(whole_.left.block(place).raw_bytes);
  }
  return hold(place, std::move(box), *others);
}

bool ArrayDiff::is_same(const BlockPlace& place, const BlockPlace& other) const {
  return box_of(whole_.left, place) == box_of(whole_.right, other) &&
         whole_.have_same_checksum(place, other);
}

Status ArrayDiff::make_room(std::uint64_t bytes) {
  const bool is_full = batch_bytes_ + bytes > whole_.options.batch_bytes;
  Status done = is_full && !batch_.empty() ? compare_batch() : Status{};
  batch_bytes_ += bytes;
  return done;
}

Status ArrayDiff::hold(const BlockPlace& place, Box box, std::span<const BlockPlace> others) {
  const Block block = whole_.left.block(place);
  const bool is_met = !others.empty();
  const std::uint64_t bytes = is_met ? block.raw_bytes : 0;
  if (Status done = make_room(held_bytes(box, bytes, others.size())); !done) return done;
  Held held = {.box = std::move(box), .bytes = {}, .difference = {.key = block.key}};
  if (is_met) {
    auto read = left_reader_.read(whole_.left, place);
    if (!read) return tl::unexpected(read.error());
    ++whole_.report.blocks_read;
    held.bytes = std::move(*read);
  }
  for (const BlockPlace& other : others)
    meetings_.push_back({other, batch_.size()});
  batch_.push_back(std::move(held));
  return whole_.advance(0);
}

Status ArrayDiff::compare_batch() {
  std::ranges::sort(meetings_, {}, [](const Meeting& meeting) {
    return std::tuple(meeting.right.file, meeting.right.number, meeting.held);
  });
  for (auto first = meetings_.begin(); first != meetings_.end();) {
    const BlockPlace right = first->right;
    const auto last = std::find_if(first, meetings_.end(),
                                   [&](const Meeting& meeting) { return meeting.right != right; });
    if (Status done = compare_with(right, {first, last}); !done) return done;
    first = last;
  }
  for (Held& held : batch_)
    if (Status done = finish(held); !done) return done;
  meetings_.clear();
  batch_.clear();
  batch_bytes_ = 0;
  return {};
}

Status ArrayDiff::compare_with(const BlockPlace& right, std::span<const Meeting> meetings) {
  const auto others = right_reader_.read(whole_.right, right);
  if (!others) return tl::unexpected(others.error());
  ++whole_.report.blocks_read;
  const Box other = box_of(whole_.right, right);
  std::uint64_t compared = 0;
  for (const Meeting& meeting : meetings) {
    Held& held = batch_[meeting.held];
    const std::uint64_t before = held.compared;
    compare_shared(held, other, *others);
    compared += held.compared - before;
  }
  return whole_.advance(compared * element_bytes());
}

void ArrayDiff::compare_shared(Held& held, const Box& other, std::span<const std::byte> others) {
  const Box shared = shared_box(held.box, other);
  const std::uint64_t row_bytes = shared.count.back() * element_bytes();
  std::vector<std::uint64_t> element = shared.start;
  do {
    const std::uint64_t at = place_in(held.box, element);
    const auto row = std::span(held.bytes).subspan(at * element_bytes(), row_bytes);
    const auto others_row = others.subspan(place_in(other, element) * element_bytes(), row_bytes);
    take_in(held.difference, compare(definition_.type, definition_.order, row, others_row), at);
  } while (next_row(shared, element));
  held.compared += elements_of(shared);
}

/// No two blocks of a step share an element, so that a sum says whether one is on both sides.
Status ArrayDiff::finish(Held& held) {
  const std::uint64_t elements = elements_of(held.box);
  BlockDifference& difference = held.difference;
  if (held.compared == 0) {
    difference.kind = BlockDifference::Kind::kOnlyLeft;
  } else if (difference.elements == 0 && held.compared < elements) {
    difference.kind = BlockDifference::Kind::kShape;
  }
  const bool differs = difference.elements > 0 || held.compared < elements;
  if (differs) whole_.add(difference, result_);
  return whole_.advance((elements - held.compared) * element_bytes());
}

void ArrayDiff::find_only_right() {
  for (const BlockPlace& place : whole_.right.blocks(definition_.name)) {
    const Box box = box_of(whole_.right, place);
    const auto others = whole_.left.intersecting(definition_.name, box);
    std::uint64_t on_both = 0;
    for (const BlockPlace& other : others.value())
      on_both += elements_of(shared_box(box, box_of(whole_.left, other)));
    if (on_both == elements_of(box)) continue;
    whole_.add({.kind = BlockDifference::Kind::kOnlyRight, .key = whole_.right.block(place).key},
               result_);
  }
}

}  // namespace

Result<FieldDifference> compare_arrays(Comparison& whole, const FieldDefinition& definition) {
  return ArrayDiff(whole, definition).run();
}

}  // namespace forebay::format
