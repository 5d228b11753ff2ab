// SPDX-License-Identifier: Apache-2.0
// Gives any bytes as the file `commits` to its reader and holds it to what it promises; a second
// time with right checksums of slots, tables and past blocks.
#include <vector>

#include "format/checksum.hpp"
#include "format/commits_file.hpp"
#include "format/layout.hpp"
#include "storage/memory_file.hpp"
#include "tests/fuzz/dataset_target.hpp"

namespace forebay::format {
namespace {

/// What was read can be gone on with, and nothing that is in force is overwritten.
void hold_next(storage::File& file, const LoadedCommits& loaded) {
  const std::uint64_t last = loaded.state.table.empty() ? 0 : loaded.state.table.back().step;
  const std::uint64_t step = std::max(last + 1, loaded.state.first_step);
  if (last == UINT64_MAX || loaded.state.generation == UINT64_MAX) return;
  const auto plan = plan_publish(loaded.state, {.step = step, .files = {{}}}, 1);
  if (!plan) return;  // a past that says it is newer
  for (const CommitWrite& write : plan->writes) {
    const ByteRange written = {write.offset, write.bytes.size()};
    hold(intersect(written, loaded.state.table_place).empty(), "the table in force stays");
    for (const PastPlace& past : loaded.state.past)
      hold(intersect(written, {past.reference.offset, past.reference.bytes}).empty(),
           "the past in force stays");
    hold(file.write_at(write.bytes, write.offset).has_value(), "memory takes it");
  }
  const auto again = load_commits(file);
  hold(again.has_value(), "what was published is read");
  hold(again->state.generation == plan->after.generation, "the newest generation is in force");
  hold(!again->steps.empty() && again->steps.back().step == step, "the new step is there");
}

bool run(std::span<const std::byte> bytes) {
  storage::MemoryFile file("fuzz", {bytes.begin(), bytes.end()});
  const auto loaded = load_commits(file);
  if (!loaded) return false;
  for (const StepEntry& step : loaded->steps)
    hold(step.step >= loaded->state.first_step, "steps that are told are alive");
  const bool is_whole = loaded->damages.empty();
  hold_next(file, *loaded);
  return is_whole;
}

std::span<std::byte> bytes_of(std::span<std::byte> file, const Reference& place) {
  if (place.offset > file.size() || place.bytes > file.size() - place.offset) return {};
  return file.subspan(place.offset, place.bytes);
}

void make_whole(std::span<std::byte> file, std::uint64_t number) {
  const auto page = file.subspan(number * kPageBytes, kPageBytes);
  auto slot = layout::load<layout::Slot>(page);
  const auto past = bytes_of(file, slot.past);
  if (past.size() >= sizeof(layout::PastHead)) {
    const auto head = layout::load<layout::PastHead>(past);
    slot.past = past_reference(slot.start.dataset, head.generation, slot.past.offset, past);
  }
  const bool is_here = slot.table.offset == 0 && slot.table.bytes <= kSlotTableBytesMax;
  const auto table = is_here ? page.subspan(offsetof(layout::Slot, table_here), slot.table.bytes)
                             : bytes_of(file, slot.table);
  slot.table.checksum =
      metadata_checksum(generation_seed(kTableMagic, slot.start.dataset, slot.generation), table);
  layout::store(slot, page);
  slot.checksum = metadata_checksum(kSlotMagic, layout::before_checksum(page));
  layout::store(slot, page);
}

}  // namespace

bool accepts(std::span<const std::byte> bytes) { return run(bytes); }

}  // namespace forebay::format

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::format;
  const auto bytes = std::as_bytes(std::span(data, size));
  run(bytes);
  if (size < kSlotsBytes) return 0;
  std::vector<std::byte> whole(bytes.begin(), bytes.end());
  make_whole(whole, 0);
  make_whole(whole, 1);
  run(whole);
  return 0;
}
