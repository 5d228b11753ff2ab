// SPDX-License-Identifier: Apache-2.0
// Passes any bytes as the file `commits` to its reader and checks the reader's contract. A second
// run has valid checksums of slots, tables and history tables.
#include <vector>

#include "format/checksum.hpp"
#include "format/layout.hpp"
#include "format/load_commits.hpp"
#include "storage/memory_file.hpp"
#include "tests/fuzz/dataset_target.hpp"

namespace forebay::format {
namespace {

/// Checks that a commit can follow what was read, and that it overwrites nothing of the current
/// state.
void check_next_commit(storage::File& file, const LoadedCommits& loaded) {
  const std::uint64_t last = loaded.state.table.empty() ? 0 : loaded.state.table.back().step;
  const std::uint64_t step = std::max(last + 1, loaded.state.first_step);
  if (last == UINT64_MAX || loaded.state.generation == UINT64_MAX) return;
  const auto plan = plan_commit(loaded.state, {.step = step, .files = {{}}}, 1);
  if (!plan) return;  // the history has a newer generation
  for (const CommitWrite& write : plan->writes) {
    const ByteRange written = {write.offset, write.bytes.size()};
    check(intersect(written, loaded.state.table_range).empty(),
          "the current table is not overwritten");
    for (const HistoryTableRef& history : loaded.state.history)
      check(intersect(written, {history.reference.offset, history.reference.bytes}).empty(),
            "the current history is not overwritten");
    check(file.write_at(write.bytes, write.offset).has_value(), "a write to memory succeeds");
  }
  const auto again = load_commits(file);
  check(again.has_value(), "a published commit can be read");
  check(again->state.generation == plan->new_state.generation, "the newest generation is current");
  check(!again->steps.empty() && again->steps.back().step == step, "the new step is the last");
}

bool run(std::span<const std::byte> bytes) {
  storage::MemoryFile file("fuzz", {bytes.begin(), bytes.end()});
  const auto loaded = load_commits(file);
  if (!loaded) return false;
  for (const StepEntry& step : loaded->steps)
    check(step.step >= loaded->state.first_step, "listed steps are not dropped");
  const bool is_whole = loaded->errors.empty();
  check_next_commit(file, *loaded);
  return is_whole;
}

std::span<std::byte> bytes_of(std::span<std::byte> file, const Reference& place) {
  if (place.offset > file.size() || place.bytes > file.size() - place.offset) return {};
  return file.subspan(place.offset, place.bytes);
}

void fix_checksums(std::span<std::byte> file, std::uint64_t number) {
  const auto page = file.subspan(number * kPageBytes, kPageBytes);
  auto slot = layout::load<layout::CommitSlot>(page);
  const auto history = bytes_of(file, slot.history);
  if (history.size() >= sizeof(layout::HistoryHeader)) {
    const auto head = layout::load<layout::HistoryHeader>(history);
    slot.history =
        history_reference(slot.common.dataset, head.generation, slot.history.offset, history);
  }
  const bool is_inline_table = slot.table.offset == 0 && slot.table.bytes <= kInlineTableBytesMax;
  const auto table =
      is_inline_table ? page.subspan(offsetof(layout::CommitSlot, inline_table), slot.table.bytes)
                      : bytes_of(file, slot.table);
  slot.table.checksum =
      metadata_checksum(generation_seed(kTableMagic, slot.common.dataset, slot.generation), table);
  layout::store(slot, page);
  slot.checksum = metadata_checksum(kSlotMagic, layout::checksummed_bytes(page));
  layout::store(slot, page);
}

}  // namespace

bool is_accepted(std::span<const std::byte> bytes) { return run(bytes); }

}  // namespace forebay::format

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::format;
  const auto bytes = std::as_bytes(std::span(data, size));
  run(bytes);
  if (size < kSlotsBytes) return 0;
  std::vector<std::byte> fixed(bytes.begin(), bytes.end());
  fix_checksums(fixed, 0);
  fix_checksums(fixed, 1);
  run(fixed);
  return 0;
}
