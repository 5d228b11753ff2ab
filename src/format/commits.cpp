// SPDX-License-Identifier: Apache-2.0
#include "format/commits.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "format/checksum.hpp"
#include "format/decode_context.hpp"
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

bool has_plausible_table(const layout::CommitSlot& slot) noexcept {
  if (slot.table.offset == 0) return slot.table.bytes <= kInlineTableBytesMax;
  return slot.table.offset >= kSlotsBytes && slot.table.offset % kPageBytes == 0 &&
         slot.table.bytes <= kTableBytesReadMax;
}

bool has_plausible_history(const layout::CommitSlot& slot) noexcept {
  if (slot.history.bytes == 0) return true;
  return slot.history.offset >= kSlotsBytes && slot.history.offset % kPageBytes == 0 &&
         slot.history.bytes <= kTableBytesReadMax;
}

}  // namespace

CommitSlotPage encode_slot(const CommitSlot& slot) {
  FOREBAY_ASSERT(slot.inline_table.size() <= kInlineTableBytesMax);
  layout::CommitSlot record;
  record.common.dataset = slot.dataset;
  record.generation = slot.generation;
  record.first_step = slot.first_step;
  record.steps = slot.steps;
  record.table = slot.table;
  record.history = slot.history;
  record.wall_ns = slot.wall_ns;
  std::ranges::copy(slot.inline_table, record.inline_table.begin());
  CommitSlotPage page;
  layout::store(record, page);
  record.checksum = metadata_checksum(kSlotMagic, layout::checksummed_bytes(page));
  layout::store(record, page);
  return page;
}

Result<CommitSlot> decode_slot(std::span<const std::byte> page,
                               std::uint64_t number,
                               const std::string& path) {
  const DecodeContext context = {"slot " + std::to_string(number), path, number * kPageBytes};
  if (page.size() < kPageBytes)
    return context.make_error(ErrorClass::kShortFile, page.size(), "the file ends inside it");
  page = page.first(kPageBytes);
  const auto record = layout::load<layout::CommitSlot>(page);
  if (record.common.magic != kSlotMagic)
    return context.damage_error(0, "it does not begin with FbySlot_");
  if (record.checksum != metadata_checksum(kSlotMagic, layout::checksummed_bytes(page)))
    return context.damage_error(0, "its checksum does not fit: it was torn or changed");
  if (record.common.major > kMajorVersion) return context.version_error(record.common.major);
  if (record.generation % 2 != number)
    return context.damage_error(
        32, "generation " + std::to_string(record.generation) + " belongs to the other slot");
  if (!has_plausible_table(record))
    return context.damage_error(56, "its reference to the table is not valid");
  if (!has_plausible_history(record))
    return context.damage_error(80, "its reference to the history table is not valid");
  CommitSlot slot = {.dataset = record.common.dataset,
                     .generation = record.generation,
                     .first_step = record.first_step,
                     .steps = record.steps,
                     .table = record.table,
                     .history = record.history,
                     .wall_ns = record.wall_ns};
  if (record.table.offset == 0) {
    const auto here = std::span(record.inline_table).first(record.table.bytes);
    slot.inline_table.assign(here.begin(), here.end());
  }
  return slot;
}

Result<std::vector<StepEntry>> decode_table(const CommitSlot& slot,
                                            std::span<const std::byte> bytes,
                                            const std::string& path) {
  const std::uint64_t number = slot.generation % 2;
  const std::uint64_t offset =
      slot.table.offset != 0 ? slot.table.offset
                             : number * kPageBytes + offsetof(layout::CommitSlot, inline_table);
  const DecodeContext context = {"step table", path, offset};
  if (bytes.size() < slot.table.bytes)
    return context.make_error(ErrorClass::kShortFile, bytes.size(), "the file ends inside it");
  bytes = bytes.first(slot.table.bytes);
  const Reference found =
      reference_of(kTableMagic, slot.dataset, slot.generation, slot.table.offset, bytes);
  if (found != slot.table)
    return context.damage_error(0, "its checksum is not that of generation " +
                                       std::to_string(slot.generation) +
                                       ": it was torn or changed");
  return decode_steps(bytes, slot.steps, path, offset);
}

std::vector<std::byte> encode_history_table(const DatasetId& dataset, const HistoryTable& block) {
  FOREBAY_ASSERT(!block.steps.empty());
  layout::HistoryHeader head;
  head.common.dataset = dataset;
  head.generation = block.generation;
  head.first_step = block.steps.front().step;
  head.last_step = block.steps.back().step;
  head.steps = block.steps.size();
  head.previous = block.previous;
  head.previous_last_step = block.previous_last_step;
  std::vector<std::byte> bytes(sizeof head);
  layout::store(head, bytes);
  const std::vector<std::byte> steps = encode_steps(block.steps);
  bytes.insert(bytes.end(), steps.begin(), steps.end());
  return bytes;
}

Reference history_reference(const DatasetId& dataset,
                            std::uint64_t generation,
                            std::uint64_t offset,
                            std::span<const std::byte> encoded) noexcept {
  return reference_of(kHistoryMagic, dataset, generation, offset, encoded);
}

Result<HistoryTable> decode_history_table(const DatasetId& dataset,
                                          const Reference& place,
                                          std::span<const std::byte> bytes,
                                          const std::string& path) {
  const DecodeContext context = {"history table", path, place.offset};
  if (bytes.size() < place.bytes)
    return context.make_error(ErrorClass::kShortFile, bytes.size(), "the file ends inside it");
  bytes = bytes.first(place.bytes);
  if (bytes.size() < sizeof(layout::HistoryHeader))
    return context.damage_error(0, "it is shorter than its header");
  const auto head = layout::load<layout::HistoryHeader>(bytes);
  if (head.common.magic != kHistoryMagic)
    return context.damage_error(0, "it does not begin with FbyPast_");
  if (history_reference(dataset, head.generation, place.offset, bytes) != place)
    return context.damage_error(0, "its checksum does not fit: it was torn or changed");
  if (head.common.major > kMajorVersion) return context.version_error(head.common.major);
  if (head.common.dataset != dataset)
    return context.damage_error(16, "it belongs to another dataset");
  auto steps =
      decode_steps(bytes.subspan(sizeof head), head.steps, path, place.offset + sizeof head);
  if (!steps) return tl::unexpected(steps.error());
  const bool has_its_steps = !steps->empty() && steps->front().step == head.first_step &&
                             steps->back().step == head.last_step;
  if (!has_its_steps)
    return context.damage_error(40, "its first and last step do not match its header");
  return HistoryTable{.generation = head.generation,
                      .previous = head.previous,
                      .previous_last_step = head.previous_last_step,
                      .steps = std::move(*steps)};
}

}  // namespace forebay::format
