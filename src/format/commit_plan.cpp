// SPDX-License-Identifier: Apache-2.0
// Places of the parts of the next generation. Nothing that the valid generation refers to is
// overwritten, so it stays valid whatever happens to the new one.
#include <algorithm>

#include "base/assert.hpp"
#include "format/checksum.hpp"
#include "format/commits.hpp"
#include "format/step_table.hpp"

namespace forebay::format {
namespace {

/// Steps that stay in a table when older ones move to a history table.
constexpr std::size_t kTableStepsKept = kTableStepsMax / 2;
constexpr std::uint64_t kTableBytesKept = kTableBytesMax / 2;

std::vector<std::byte> bytes_of_page(const CommitSlotPage& page) {
  return {page.begin(), page.end()};
}

bool is_too_long(std::span<const StepEntry> table) {
  return table.size() > 1 &&
         (table.size() > kTableStepsMax || step_table_bytes(table) > kTableBytesMax);
}

/// Number of the newest steps that stay: at least one.
std::size_t retained_steps(std::span<const StepEntry> table) {
  std::size_t count = 1;
  std::uint64_t bytes = step_record_bytes(table.back().files.size());
  while (count < std::min(kTableStepsKept, table.size())) {
    bytes += step_record_bytes(table[table.size() - 1 - count].files.size());
    if (bytes > kTableBytesKept) break;
    ++count;
  }
  return count;
}

/// Plans one generation.
class CommitPlanner {
 public:
  CommitPlanner(const CommitsState& state, std::uint64_t wall_ns)
      : wall_ns_(wall_ns), state_(state) {
    ++state_.generation;
    for (const HistoryTableRef& history : state.history)
      used_ranges_.push_back({history.reference.offset, history.reference.bytes});
    if (!state.table_range.empty()) used_ranges_.push_back(state.table_range);
  }

  void drop_before(std::uint64_t first_step) {
    state_.first_step = first_step;
    std::erase_if(state_.table, [&](const StepEntry& step) { return step.step < first_step; });
    std::erase_if(state_.history,
                  [&](const HistoryTableRef& history) { return history.last_step < first_step; });
  }
  void add_step(const StepEntry& step) { state_.table.push_back(step); }
  /// Sets all steps at once, with new history tables.
  void set_steps(std::span<const StepEntry> steps) {
    state_.history.clear();
    state_.table.clear();
    for (const StepEntry& step : steps) {
      add_step(step);
      move_to_history();
    }
  }

  CommitPlan plan() {
    move_to_history();
    put_slot(put_table());
    return {std::move(writes_), std::move(state_)};
  }

 private:
  /// The first free place behind the slots.
  std::uint64_t allocate(std::uint64_t bytes) {
    std::ranges::sort(used_ranges_, {}, &ByteRange::offset);
    std::uint64_t offset = kSlotsBytes;
    for (const ByteRange& range : used_ranges_) {
      if (range.offset >= offset && range.offset - offset >= bytes) break;
      offset = std::max(offset, round_up(range.end(), kPageBytes));
    }
    used_ranges_.push_back({offset, bytes});
    return offset;
  }

  void move_to_history() {
    std::vector<StepEntry>& table = state_.table;
    if (!is_too_long(table)) return;
    const auto end = table.end() - static_cast<std::ptrdiff_t>(retained_steps(table));
    HistoryTable block = {.generation = state_.generation, .steps = {table.begin(), end}};
    table.erase(table.begin(), end);
    if (!state_.history.empty()) {
      block.previous = state_.history.front().reference;
      block.previous_last_step = state_.history.front().last_step;
    }
    std::vector<std::byte> bytes = encode_history_table(state_.dataset, block);
    const std::uint64_t offset = allocate(bytes.size());
    state_.history.insert(state_.history.begin(),
                          {history_reference(state_.dataset, state_.generation, offset, bytes),
                           block.steps.front().step, block.steps.back().step});
    writes_.push_back({offset, std::move(bytes)});
  }

  CommitSlot put_table() {
    CommitSlot slot = {.dataset = state_.dataset,
                       .generation = state_.generation,
                       .first_step = state_.first_step,
                       .steps = state_.table.size(),
                       .wall_ns = wall_ns_};
    std::vector<std::byte> bytes = encode_steps(state_.table);
    const std::uint64_t seed = generation_seed(kTableMagic, state_.dataset, state_.generation);
    slot.table = {0, bytes.size(), metadata_checksum(seed, bytes)};
    if (bytes.size() <= kInlineTableBytesMax) {
      slot.inline_table = std::move(bytes);
      state_.table_range = {};
      return slot;
    }
    slot.table.offset = allocate(bytes.size());
    state_.table_range = {slot.table.offset, bytes.size()};
    writes_.push_back({slot.table.offset, std::move(bytes)});
    return slot;
  }

  void put_slot(CommitSlot slot) {
    if (!state_.history.empty()) slot.history = state_.history.front().reference;
    writes_.push_back({slot.generation % 2 * kPageBytes, bytes_of_page(encode_slot(slot))});
  }

  const std::uint64_t wall_ns_;
  CommitsState state_;
  std::vector<ByteRange> used_ranges_;
  std::vector<CommitWrite> writes_;
};

tl::unexpected<Error> invalid_argument_error(const std::string& operation,
                                             const std::string& cause) {
  return failure({.kind = ErrorClass::kInvalidArgument, .operation = operation, .cause = cause});
}

std::optional<std::uint64_t> last_step(const CommitsState& state) {
  if (!state.table.empty()) return state.table.back().step;
  if (!state.history.empty()) return state.history.front().last_step;
  return std::nullopt;
}

bool is_ascending(std::span<const FileEntry> files) {
  return std::ranges::adjacent_find(files, std::greater_equal(), &FileEntry::file) == files.end();
}

}  // namespace

CommitPlan plan_create(const DatasetId& dataset, std::uint64_t wall_ns) {
  CommitSlot slot = {.dataset = dataset, .wall_ns = wall_ns};
  slot.table.checksum = metadata_checksum(generation_seed(kTableMagic, dataset, 0), {});
  CommitPlan plan = {.new_state = {.dataset = dataset}};
  plan.writes.push_back({0, bytes_of_page(encode_slot(slot))});
  plan.writes.push_back({kPageBytes, std::vector<std::byte>(kPageBytes)});
  return plan;
}

Result<CommitPlan> plan_commit(const CommitsState& state,
                               const StepEntry& step,
                               std::uint64_t wall_ns) {
  const std::string operation = "publish step " + std::to_string(step.step);
  if (step.step < state.first_step)
    return invalid_argument_error(
        operation, "steps before " + std::to_string(state.first_step) + " were dropped");
  const auto last = last_step(state);
  if (last && step.step <= *last)
    return invalid_argument_error(
        operation, "the newest step is " + std::to_string(*last) + "; step numbers must rise");
  if (step.files.empty() || step.files.size() > kFilesMax)
    return invalid_argument_error(operation,
                                  "it has " + std::to_string(step.files.size()) + " files");
  if (!is_ascending(step.files)) return invalid_argument_error(operation, "its files do not rise");
  CommitPlanner planner(state, wall_ns);
  planner.add_step(step);
  return planner.plan();
}

Result<CommitPlan> plan_drop(const CommitsState& state,
                             std::uint64_t first_step,
                             std::uint64_t wall_ns) {
  if (first_step < state.first_step)
    return invalid_argument_error(
        "drop steps before " + std::to_string(first_step),
        "steps before " + std::to_string(state.first_step) + " are dropped already");
  CommitPlanner planner(state, wall_ns);
  planner.drop_before(first_step);
  return planner.plan();
}

CommitPlan plan_rebuild(const CommitsState& state,
                        std::span<const StepEntry> steps,
                        std::uint64_t wall_ns) {
  CommitPlanner planner(state, wall_ns);
  planner.set_steps(steps);
  return planner.plan();
}

}  // namespace forebay::format
