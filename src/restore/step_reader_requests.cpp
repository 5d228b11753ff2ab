// SPDX-License-Identifier: Apache-2.0
// Converts requests of the user to lists of blocks. Types, sizes and places are checked here, once
// for the whole request.
#include <algorithm>
#include <utility>

#include "format/box_overlap.hpp"
#include "restore/part_finder.hpp"
#include "restore/step_reader_core.hpp"

namespace forebay::restore {

namespace {

/// Size of the numbers whose byte order is swapped; 0: none.
std::uint32_t swap_unit_of(const FieldInfo& field, const FieldRequest& request) {
  const bool is_native = field.order == ByteOrder::kLittle || request.type == ElementType::kBytes;
  if (is_native) return 0;
  const bool is_complex =
      field.type == ElementType::kComplex64 || field.type == ElementType::kComplex128;
  const auto bytes = static_cast<std::uint32_t>(element_size(field.type) / (is_complex ? 2 : 1));
  return bytes == 1 ? 0 : bytes;
}

std::string with_unit(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what;
}

BlockRequest request_of(const format::StepCatalog& step, const format::BlockLocation& location) {
  const format::Block block = step.block(location);
  return {.location = location, .offset = block.offset, .raw = {0, block.raw_bytes}};
}

bool is_inside(const Subarray& selection, const Shape& shape) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (selection.start[d] > shape[d] || selection.count[d] > shape[d] - selection.start[d])
      return false;
  }
  return true;
}

}  // namespace

Result<const FieldInfo*> StepReaderCore::check_type(const FieldRequest& request,
                                                    FieldKind kind) const {
  const auto field = require_field(request.field, kind);
  if (!field) return field;
  const ElementType stored = (*field)->type;
  if (request.type == stored || request.type == ElementType::kBytes) return field;
  return failure(make_error(ErrorClass::kInvalidArgument, request.field,
                            "its elements are " + std::string(name_of(stored)) +
                                ", the memory is for " + std::string(name_of(request.type)) +
                                "; read into memory of the same type, or of std::byte"));
}

Status StepReaderCore::check_size(const FieldRequest& request, std::uint64_t needed) const {
  if (needed == request.memory_bytes) return {};
  return failure(make_error(ErrorClass::kInvalidArgument, request.field,
                            "the request has " + with_unit(needed, "bytes") + ", the memory has " +
                                std::to_string(request.memory_bytes)));
}

Result<BlockRequestList> StepReaderCore::request_parts(const FieldRequest& request,
                                                       std::span<const Part> parts) const {
  const auto field = check_type(request, FieldKind::kParts);
  if (!field) return failure(field.error());
  BlockRequestList list{.step = catalog_, .swap_unit_bytes = swap_unit_of(**field, request)};
  list.requests.reserve(parts.size());
  PartFinder finder(*catalog_, request.field);
  for (const Part& part : parts) {
    const auto location = finder.find(part.number);
    if (!location) return failure(translate_error(location.error()));
    list.requests.push_back(request_of(*catalog_, *location));
    list.requests.back().memory_offset = list.bytes;
    list.bytes += list.requests.back().raw.size;
  }
  if (const Status fits = check_size(request, list.bytes); !fits) return failure(fits.error());
  sort(list);
  return list;
}

Result<format::MemoryPlacement> StepReaderCore::place(const FieldRequest& request,
                                                      const MemoryLayout& layout,
                                                      const Shape& count,
                                                      std::uint64_t element_bytes) const {
  if (layout.is_packed()) {
    const Status fits = check_size(request, element_count(count) * element_bytes);
    if (!fits) return failure(fits.error());
    return format::packed_placement(count, element_bytes);
  }
  auto placement = format::place_in_memory(
      layout, {count, element_bytes, request.memory_bytes, format::MemoryAccess::kWrite});
  if (placement) return placement;
  return failure(
      make_error(ErrorClass::kInvalidArgument, request.field, placement.error().cause()));
}

Result<BlockRequestList> StepReaderCore::request_part(const FieldRequest& request,
                                                      Part part,
                                                      const MemoryLayout& layout) const {
  const auto field = check_type(request, FieldKind::kParts);
  if (!field) return failure(field.error());
  const auto count = shape(request.field, part);
  if (!count) return failure(count.error());
  const std::uint64_t element_bytes = element_size((*field)->type);
  const auto memory = place(request, layout, *count, element_bytes);
  if (!memory) return failure(memory.error());
  const auto location = catalog_->find_part(request.field, part.number);
  if (!location) return failure(translate_error(location.error()));
  BlockRequest block_request = request_of(*catalog_, *location);
  BlockRequestList list{.step = catalog_, .swap_unit_bytes = swap_unit_of(**field, request)};
  list.bytes = block_request.raw.size;
  if (list.bytes == 0) return list;
  const format::Box box{format::Coordinates(count->size()), *count};
  list.boxes.emplace_back(box, box, *memory, element_bytes);
  block_request.memory_offset = list.boxes.back().memory_offset();
  if (!list.boxes.back().is_one_run()) block_request.box = 0;
  list.requests.push_back(block_request);
  return list;
}

Result<BlockRequestList> StepReaderCore::request_range(const FieldRequest& request,
                                                       Part part,
                                                       std::uint64_t first_element) const {
  const auto field = check_type(request, FieldKind::kParts);
  if (!field) return failure(field.error());
  const auto location = catalog_->find_part(request.field, part.number);
  if (!location) return failure(translate_error(location.error()));
  const std::uint64_t element_bytes = element_size((*field)->type);
  const std::uint64_t elements = request.memory_bytes / element_bytes;
  if (const Status fits = check_size(request, elements * element_bytes); !fits)
    return failure(fits.error());
  BlockRequest block_request = request_of(*catalog_, *location);
  const std::uint64_t stored = block_request.raw.size / element_bytes;
  if (first_element > stored || elements > stored - first_element) {
    return failure(make_error(ErrorClass::kOutOfRange, request.field,
                              "part " + std::to_string(part.number) + " has " +
                                  with_unit(stored, "elements") + ", and " +
                                  with_unit(elements, "from number ") +
                                  std::to_string(first_element) + " on are requested"));
  }
  block_request.raw = {first_element * element_bytes, elements * element_bytes};
  return BlockRequestList{.step = catalog_,
                          .requests = {block_request},
                          .boxes = {},
                          .bytes = block_request.raw.size,
                          .swap_unit_bytes = swap_unit_of(**field, request)};
}

/// "(1024, 512)"
std::string text_of(std::span<const std::uint64_t> numbers) {
  std::string text;
  for (const std::uint64_t number : numbers)
    text += (text.empty() ? "(" : ", ") + std::to_string(number);
  return text.empty() ? "()" : text + ")";
}

/// Number of elements of the selection.
Result<std::uint64_t> StepReaderCore::check_selection(const FieldInfo& field,
                                                      const Subarray& selection) const {
  const std::size_t dimensions = field.shape.size();
  const auto refuse = [&](ErrorClass kind, std::string cause) {
    return failure(make_error(kind, field.name, std::move(cause)));
  };
  if (selection.start.size() != dimensions || selection.count.size() != dimensions)
    return refuse(ErrorClass::kInvalidArgument,
                  "the array has " + with_unit(dimensions, "dimensions") + ", start and count of " +
                      "the selection have " + std::to_string(selection.start.size()) + " and " +
                      std::to_string(selection.count.size()));
  if (selection.order != ArrayOrder::kC)
    return refuse(
        ErrorClass::kInvalidArgument,
        "arrays are read in C order; reverse shape, start and count of a selection in Fortran "
        "order");
  if (!selection.shape.empty() && selection.shape != field.shape)
    return refuse(ErrorClass::kInvalidArgument, "the array has shape " + text_of(field.shape) +
                                                    ", the selection is for shape " +
                                                    text_of(selection.shape));
  if (!is_inside(selection, field.shape))
    return refuse(ErrorClass::kOutOfRange, "the selection of " + text_of(selection.count) +
                                               " elements from " + text_of(selection.start) +
                                               " is not inside the array of shape " +
                                               text_of(field.shape) + "; numbers count from 0");
  return element_count(selection.count);
}

Result<SelectionRequest> StepReaderCore::request_selection(const FieldRequest& request,
                                                           const Subarray& selection,
                                                           const MemoryLayout& layout) const {
  const auto field = check_type(request, FieldKind::kGlobal);
  if (!field) return failure(field.error());
  const auto elements = check_selection(**field, selection);
  if (!elements) return failure(elements.error());
  const std::uint64_t element_bytes = element_size((*field)->type);
  auto memory = place(request, layout, selection.count, element_bytes);
  if (!memory) return failure(memory.error());
  BlockRequestList list{.step = catalog_,
                        .requests = {},
                        .boxes = {},
                        .bytes = *elements * element_bytes,
                        .swap_unit_bytes = swap_unit_of(**field, request)};
  const format::Box box{selection.start, selection.count};
  const auto blocks = catalog_->find_blocks(request.field, box);
  if (!blocks) return failure(blocks.error());
  std::uint64_t found_bytes = 0;
  for (const format::BlockLocation& location : *blocks) {
    BlockRequest block_request = request_of(*catalog_, location);
    list.boxes.emplace_back(catalog_->index(location).box(location.field, location.number), box,
                            *memory, element_bytes);
    block_request.raw = list.boxes.back().hull();
    block_request.box = static_cast<std::uint32_t>(list.boxes.size() - 1);
    found_bytes += list.boxes.back().bytes();
    list.requests.push_back(block_request);
  }
  if (const Status apart = check_no_overlap(request, *blocks); !apart)
    return failure(apart.error());
  const bool is_covered = found_bytes >= list.bytes;
  if (!is_covered && has_lost_files())
    return failure(not_found_error(request.field, "some of the selection is"));
  sort(list);
  return SelectionRequest{std::move(list), is_covered, std::move(*memory), element_bytes};
}

/// If two blocks have the same elements, it is ambiguous which one is meant. Without overlap, a
/// selection is covered if blocks have as many bytes.
Status StepReaderCore::check_no_overlap(const FieldRequest& request,
                                        std::span<const format::BlockLocation> blocks) const {
  if (blocks.size() < 2) return {};
  std::vector<format::Box> boxes;
  for (const format::BlockLocation& location : blocks)
    boxes.push_back(catalog_->index(location).box(location.field, location.number));
  const auto overlap = format::find_overlap(boxes);
  if (!overlap) return {};
  return failure(make_error(ErrorClass::kDamage, request.field,
                            catalog_->describe(blocks[overlap->first]) + " and " +
                                catalog_->describe(blocks[overlap->second]) +
                                " overlap: the elements in both are ambiguous"));
}

bool StepReaderCore::has_lost_files() const {
  return std::ranges::any_of(catalog_->files(),
                             [](const format::StepFile& file) { return file.error.has_value(); });
}

Error StepReaderCore::not_covered_error(const FieldRequest& request) const {
  return make_error(
      ErrorClass::kNotFound, request.field,
      "no block has some of the selection; pass a fill value to read it nevertheless");
}

}  // namespace forebay::restore
