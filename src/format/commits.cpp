// SPDX-License-Identifier: Apache-2.0
#include "format/commits.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "format/checksum.hpp"
#include "format/damage.hpp"
#include "format/layout.hpp"
#include "format/step_table.hpp"

namespace forebay::format {
namespace {

Reference reference_of(std::uint64_t magic,
                       const DatasetId& dataset,
                       std::uint64_t generation,
                       std::uint64_t offset,
                       std::span<const std::byte> bytes) noexcept {
  const std::uint64_t seed = generation_seed(magic, dataset, generation);
  return {offset, bytes.size(), metadata_checksum(seed, bytes)};
}

bool has_plausible_table(const layout::Slot& slot) noexcept {
  if (slot.table.offset == 0) return slot.table.bytes <= kSlotTableBytesMax;
  return slot.table.offset >= kSlotsBytes && slot.table.offset % kPageBytes == 0 &&
         slot.table.bytes <= kTableBytesLimit;
}

bool has_plausible_past(const layout::Slot& slot) noexcept {
  if (slot.past.bytes == 0) return true;
  return slot.past.offset >= kSlotsBytes && slot.past.offset % kPageBytes == 0 &&
         slot.past.bytes <= kTableBytesLimit;
}

}  // namespace

SlotPage encode_slot(const Slot& slot) {
  FOREBAY_ASSERT(slot.table_here.size() <= kSlotTableBytesMax);
  layout::Slot record;
  record.start.dataset = slot.dataset;
  record.generation = slot.generation;
  record.first_step = slot.first_step;
  record.steps = slot.steps;
  record.table = slot.table;
  record.past = slot.past;
  record.wall_ns = slot.wall_ns;
  std::ranges::copy(slot.table_here, record.table_here.begin());
  SlotPage page;
  layout::store(record, page);
  record.checksum = metadata_checksum(kSlotMagic, layout::before_checksum(page));
  layout::store(record, page);
  return page;
}

Result<Slot> decode_slot(std::span<const std::byte> page,
                         std::uint64_t number,
                         const std::string& path) {
  const Source source = {"slot " + std::to_string(number), path, number * kPageBytes};
  if (page.size() < kPageBytes)
    return source.failed(ErrorClass::kShortFile, page.size(), "the file ends in it");
  page = page.first(kPageBytes);
  const auto record = layout::load<layout::Slot>(page);
  if (record.start.magic != kSlotMagic) return source.damage(0, "it does not begin with FbySlot_");
  if (record.checksum != metadata_checksum(kSlotMagic, layout::before_checksum(page)))
    return source.damage(0, "its checksum does not fit: it was torn or changed");
  if (record.start.major > kMajorVersion) return source.newer(record.start.major);
  if (record.generation % 2 != number)
    return source.damage(
        32, "generation " + std::to_string(record.generation) + " belongs to the other slot");
  if (!has_plausible_table(record)) return source.damage(56, "no table can lie there");
  if (!has_plausible_past(record)) return source.damage(80, "no past block can lie there");
  Slot slot = {.dataset = record.start.dataset,
               .generation = record.generation,
               .first_step = record.first_step,
               .steps = record.steps,
               .table = record.table,
               .past = record.past,
               .wall_ns = record.wall_ns};
  if (record.table.offset == 0) {
    const auto here = std::span(record.table_here).first(record.table.bytes);
    slot.table_here.assign(here.begin(), here.end());
  }
  return slot;
}

Result<std::vector<StepEntry>> decode_table(const Slot& slot,
                                            std::span<const std::byte> bytes,
                                            const std::string& path) {
  const std::uint64_t number = slot.generation % 2;
  const std::uint64_t offset = slot.table.offset != 0
                                   ? slot.table.offset
                                   : number * kPageBytes + offsetof(layout::Slot, table_here);
  const Source source = {"step table", path, offset};
  if (bytes.size() < slot.table.bytes)
    return source.failed(ErrorClass::kShortFile, bytes.size(), "the file ends in it");
  bytes = bytes.first(slot.table.bytes);
  const Reference found =
      reference_of(kTableMagic, slot.dataset, slot.generation, slot.table.offset, bytes);
  if (found != slot.table)
    return source.damage(0, "its checksum is not that of generation " +
                                std::to_string(slot.generation) + ": it was torn or changed");
  return decode_steps(bytes, slot.steps, path, offset);
}

std::vector<std::byte> encode_past(const DatasetId& dataset, const PastBlock& block) {
  FOREBAY_ASSERT(!block.steps.empty());
  layout::PastHead head;
  head.start.dataset = dataset;
  head.generation = block.generation;
  head.first_step = block.steps.front().step;
  head.last_step = block.steps.back().step;
  head.steps = block.steps.size();
  head.before = block.before;
  head.before_last_step = block.before_last_step;
  std::vector<std::byte> bytes(sizeof head);
  layout::store(head, bytes);
  const std::vector<std::byte> steps = encode_steps(block.steps);
  bytes.insert(bytes.end(), steps.begin(), steps.end());
  return bytes;
}

Reference past_reference(const DatasetId& dataset,
                         std::uint64_t generation,
                         std::uint64_t offset,
                         std::span<const std::byte> encoded) noexcept {
  return reference_of(kPastMagic, dataset, generation, offset, encoded);
}

Result<PastBlock> decode_past(const DatasetId& dataset,
                              const Reference& place,
                              std::span<const std::byte> bytes,
                              const std::string& path) {
  const Source source = {"past block", path, place.offset};
  if (bytes.size() < place.bytes)
    return source.failed(ErrorClass::kShortFile, bytes.size(), "the file ends in it");
  bytes = bytes.first(place.bytes);
  if (bytes.size() < sizeof(layout::PastHead)) return source.damage(0, "it is shorter than a head");
  const auto head = layout::load<layout::PastHead>(bytes);
  if (head.start.magic != kPastMagic) return source.damage(0, "it does not begin with FbyPast_");
  if (past_reference(dataset, head.generation, place.offset, bytes) != place)
    return source.damage(0, "its checksum does not fit: it was torn or changed");
  if (head.start.major > kMajorVersion) return source.newer(head.start.major);
  if (head.start.dataset != dataset) return source.damage(16, "it is of another dataset");
  auto steps =
      decode_steps(bytes.subspan(sizeof head), head.steps, path, place.offset + sizeof head);
  if (!steps) return tl::unexpected(steps.error());
  const bool has_its_steps = !steps->empty() && steps->front().step == head.first_step &&
                             steps->back().step == head.last_step;
  if (!has_its_steps) return source.damage(40, "its first and last step are others");
  return PastBlock{.generation = head.generation,
                   .before = head.before,
                   .before_last_step = head.before_last_step,
                   .steps = std::move(*steps)};
}

}  // namespace forebay::format
