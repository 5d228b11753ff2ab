// SPDX-License-Identifier: Apache-2.0
// How what a user asks for becomes a list of blocks: types, sizes and places are checked here, once
// and for the whole request.
#include <algorithm>
#include <utility>

#include "format/box_overlap.hpp"
#include "restore/part_finder.hpp"
#include "restore/step_core.hpp"

namespace forebay::restore {

namespace {

/// Numbers of so many bytes are to be turned round; 0: none.
std::uint32_t swap_bytes_of(const StoredField& field, const Wanted& wanted) {
  const bool is_native = field.order == ByteOrder::kLittle || wanted.type == ElementType::kBytes;
  if (is_native) return 0;
  const bool is_complex =
      field.type == ElementType::kComplex64 || field.type == ElementType::kComplex128;
  const auto bytes = static_cast<std::uint32_t>(bytes_of(field.type) / (is_complex ? 2 : 1));
  return bytes == 1 ? 0 : bytes;
}

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what;
}

BlockWant want_of(const format::StepCatalog& step, const format::BlockPlace& place) {
  const format::Block block = step.block(place);
  return {.place = place, .offset = block.offset, .raw = {0, block.raw_bytes}};
}

/// The part of the region that nobody has, in elements, is what is left of it.
std::uint64_t volume(const format::Place& count) {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : count)
    elements *= extent;
  return elements;
}

bool lies_in(const Subarray& region, const Shape& shape) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (region.start[d] > shape[d] || region.count[d] > shape[d] - region.start[d]) return false;
  }
  return true;
}

}  // namespace

Result<const StoredField*> StepCore::typed_field(const Wanted& wanted, FieldKind kind) const {
  const auto field = field_of(wanted.field, kind);
  if (!field) return field;
  const ElementType stored = (*field)->type;
  if (wanted.type == stored || wanted.type == ElementType::kBytes) return field;
  return failure(failed(ErrorClass::kInvalidArgument, wanted.field,
                        "its elements are " + std::string(name_of(stored)) + ", and memory for " +
                            std::string(name_of(wanted.type)) + " was given"));
}

Status StepCore::check_bytes(const Wanted& wanted, std::uint64_t needed) const {
  if (needed == wanted.into_bytes) return {};
  return failure(failed(ErrorClass::kInvalidArgument, wanted.field,
                        "the request has " + counted(needed, "bytes") + ", the memory " +
                            std::to_string(wanted.into_bytes)));
}

Result<WantList> StepCore::want_parts(const Wanted& wanted, std::span<const Part> parts) const {
  const auto field = typed_field(wanted, FieldKind::kParts);
  if (!field) return failure(field.error());
  WantList list{.step = catalog_, .swap_bytes = swap_bytes_of(**field, wanted)};
  list.wants.reserve(parts.size());
  PartFinder finder(*catalog_, wanted.field);
  for (const Part& part : parts) {
    const auto place = finder.find(part.number);
    if (!place) return failure(explained(place.error()));
    list.wants.push_back(want_of(*catalog_, *place));
    list.wants.back().into = list.bytes;
    list.bytes += list.wants.back().raw.size;
  }
  if (const Status fits = check_bytes(wanted, list.bytes); !fits) return failure(fits.error());
  sort(list);
  return list;
}

Result<WantList> StepCore::want_range(const Wanted& wanted,
                                      Part part,
                                      std::uint64_t first_element) const {
  const auto field = typed_field(wanted, FieldKind::kParts);
  if (!field) return failure(field.error());
  const auto place = catalog_->find_part(wanted.field, part.number);
  if (!place) return failure(explained(place.error()));
  const std::uint64_t element_bytes = bytes_of((*field)->type);
  const std::uint64_t elements = wanted.into_bytes / element_bytes;
  if (const Status fits = check_bytes(wanted, elements * element_bytes); !fits)
    return failure(fits.error());
  BlockWant want = want_of(*catalog_, *place);
  const std::uint64_t there = want.raw.size / element_bytes;
  if (first_element > there || elements > there - first_element) {
    return failure(failed(
        ErrorClass::kOutOfRange, wanted.field,
        "part " + std::to_string(part.number) + " has " + counted(there, "elements") + ", and " +
            counted(elements, "from number ") + std::to_string(first_element) + " on are wanted"));
  }
  want.raw = {first_element * element_bytes, elements * element_bytes};
  return WantList{.step = catalog_,
                  .wants = {want},
                  .boxes = {},
                  .bytes = want.raw.size,
                  .swap_bytes = swap_bytes_of(**field, wanted)};
}

/// The region's elements.
Result<std::uint64_t> StepCore::check_region(const StoredField& field,
                                             const Subarray& region) const {
  const std::size_t dimensions = field.shape.size();
  const auto refuse = [&](ErrorClass kind, std::string cause) {
    return failure(failed(kind, field.name, std::move(cause)));
  };
  if (region.start.size() != dimensions || region.count.size() != dimensions)
    return refuse(ErrorClass::kInvalidArgument,
                  "the array has " + counted(dimensions, "dimensions") + ", start and count of " +
                      "the region " + std::to_string(region.start.size()) + " and " +
                      std::to_string(region.count.size()));
  if (!region.shape.empty() && region.shape != field.shape)
    return refuse(ErrorClass::kInvalidArgument, "the region is one of an array of another shape");
  if (!lies_in(region, field.shape))
    return refuse(ErrorClass::kOutOfRange, "the region leaves the array");
  return volume(region.count);
}

Result<WantList> StepCore::want_region(const Wanted& wanted,
                                       const Subarray& region,
                                       bool& covered) const {
  const auto field = typed_field(wanted, FieldKind::kGlobal);
  if (!field) return failure(field.error());
  const auto elements = check_region(**field, region);
  if (!elements) return failure(elements.error());
  const std::uint64_t element_bytes = bytes_of((*field)->type);
  WantList list{.step = catalog_,
                .wants = {},
                .boxes = {},
                .bytes = *elements * element_bytes,
                .swap_bytes = swap_bytes_of(**field, wanted)};
  if (const Status fits = check_bytes(wanted, list.bytes); !fits) return failure(fits.error());
  const format::Box box{region.start, region.count};
  const auto blocks = catalog_->intersecting(wanted.field, box);
  if (!blocks) return failure(blocks.error());
  std::uint64_t found_bytes = 0;
  for (const format::BlockPlace& place : *blocks) {
    BlockWant want = want_of(*catalog_, place);
    list.boxes.emplace_back(catalog_->index(place).box(place.field, place.number), box,
                            element_bytes);
    want.raw = list.boxes.back().hull();
    want.box = static_cast<std::uint32_t>(list.boxes.size() - 1);
    found_bytes += list.boxes.back().bytes();
    list.wants.push_back(want);
  }
  if (const Status apart = check_apart(wanted, *blocks); !apart) return failure(apart.error());
  covered = found_bytes >= list.bytes;
  if (!covered && has_lost_files()) return failure(missing(wanted.field, "some of the region is"));
  sort(list);
  return list;
}

/// Nothing says which of two blocks with the same elements is meant. Where there are none, as many
/// bytes as the region has cover it.
Status StepCore::check_apart(const Wanted& wanted,
                             std::span<const format::BlockPlace> blocks) const {
  if (blocks.size() < 2) return {};
  std::vector<format::Box> boxes;
  for (const format::BlockPlace& place : blocks)
    boxes.push_back(catalog_->index(place).box(place.field, place.number));
  const auto overlap = format::find_overlap(boxes);
  if (!overlap) return {};
  return failure(failed(ErrorClass::kDamage, wanted.field,
                        catalog_->describe(blocks[overlap->first]) + " and " +
                            catalog_->describe(blocks[overlap->second]) +
                            " overlap: what elements of both are is not known"));
}

bool StepCore::has_lost_files() const {
  return std::ranges::any_of(catalog_->files(),
                             [](const format::StepFile& file) { return file.damage.has_value(); });
}

Error StepCore::not_covered(const Wanted& wanted) const {
  return failed(ErrorClass::kNotFound, wanted.field,
                "no block has some of the region; a reader that gives a fill gets that instead");
}

}  // namespace forebay::restore
