// SPDX-License-Identifier: Apache-2.0
// Where the parts of the next generation go: nothing that the generation in force refers to is
// overwritten, so that it stays in force whatever becomes of the new one.
#include <algorithm>

#include "base/assert.hpp"
#include "format/checksum.hpp"
#include "format/commits.hpp"
#include "format/step_table.hpp"

namespace forebay::format {
namespace {

/// Steps that stay in a table when older ones move to a past block.
constexpr std::size_t kTableStepsKept = kTableStepsMax / 2;
constexpr std::uint64_t kBytesKept = kTableBytesMax / 2;

std::vector<std::byte> bytes_of_page(const SlotPage& page) { return {page.begin(), page.end()}; }

bool is_too_long(std::span<const StepEntry> table) {
  return table.size() > 1 && (table.size() > kTableStepsMax || steps_bytes(table) > kTableBytesMax);
}

/// How many of the newest steps stay: at least one.
std::size_t steps_kept(std::span<const StepEntry> table) {
  std::size_t count = 1;
  std::uint64_t bytes = step_bytes(table.back().files.size());
  while (count < std::min(kTableStepsKept, table.size())) {
    bytes += step_bytes(table[table.size() - 1 - count].files.size());
    if (bytes > kBytesKept) break;
    ++count;
  }
  return count;
}

/// Plans one generation.
class Planner {
 public:
  Planner(const CommitsState& state, std::uint64_t wall_ns) : wall_ns_(wall_ns), after_(state) {
    ++after_.generation;
    for (const PastPlace& past : state.past)
      taken_.push_back({past.reference.offset, past.reference.bytes});
    if (!state.table_place.empty()) taken_.push_back(state.table_place);
  }

  void drop_before(std::uint64_t first_step) {
    after_.first_step = first_step;
    std::erase_if(after_.table, [&](const StepEntry& step) { return step.step < first_step; });
    std::erase_if(after_.past, [&](const PastPlace& past) { return past.last_step < first_step; });
  }
  void add(const StepEntry& step) { after_.table.push_back(step); }
  /// All steps at once, with new past blocks.
  void set(std::span<const StepEntry> steps) {
    after_.past.clear();
    after_.table.clear();
    for (const StepEntry& step : steps) {
      add(step);
      move_to_past();
    }
  }

  CommitPlan plan() {
    move_to_past();
    put_slot(put_table());
    return {std::move(writes_), std::move(after_)};
  }

 private:
  /// The first place behind the slots that nothing takes.
  std::uint64_t find_room(std::uint64_t bytes) {
    std::ranges::sort(taken_, {}, &ByteRange::offset);
    std::uint64_t offset = kSlotsBytes;
    for (const ByteRange& range : taken_) {
      if (range.offset >= offset && range.offset - offset >= bytes) break;
      offset = std::max(offset, round_up(range.end(), kPageBytes));
    }
    taken_.push_back({offset, bytes});
    return offset;
  }

  void move_to_past() {
    std::vector<StepEntry>& table = after_.table;
    if (!is_too_long(table)) return;
    const auto end = table.end() - static_cast<std::ptrdiff_t>(steps_kept(table));
    PastBlock block = {.generation = after_.generation, .steps = {table.begin(), end}};
    table.erase(table.begin(), end);
    if (!after_.past.empty()) {
      block.before = after_.past.front().reference;
      block.before_last_step = after_.past.front().last_step;
    }
    std::vector<std::byte> bytes = encode_past(after_.dataset, block);
    const std::uint64_t offset = find_room(bytes.size());
    after_.past.insert(after_.past.begin(),
                       {past_reference(after_.dataset, after_.generation, offset, bytes),
                        block.steps.front().step, block.steps.back().step});
    writes_.push_back({offset, std::move(bytes)});
  }

  Slot put_table() {
    Slot slot = {.dataset = after_.dataset,
                 .generation = after_.generation,
                 .first_step = after_.first_step,
                 .steps = after_.table.size(),
                 .wall_ns = wall_ns_};
    std::vector<std::byte> bytes = encode_steps(after_.table);
    const std::uint64_t seed = generation_seed(kTableMagic, after_.dataset, after_.generation);
    slot.table = {0, bytes.size(), metadata_checksum(seed, bytes)};
    if (bytes.size() <= kSlotTableBytesMax) {
      slot.table_here = std::move(bytes);
      after_.table_place = {};
      return slot;
    }
    slot.table.offset = find_room(bytes.size());
    after_.table_place = {slot.table.offset, bytes.size()};
    writes_.push_back({slot.table.offset, std::move(bytes)});
    return slot;
  }

  void put_slot(Slot slot) {
    if (!after_.past.empty()) slot.past = after_.past.front().reference;
    writes_.push_back({slot.generation % 2 * kPageBytes, bytes_of_page(encode_slot(slot))});
  }

  const std::uint64_t wall_ns_;
  CommitsState after_;
  std::vector<ByteRange> taken_;
  std::vector<CommitWrite> writes_;
};

tl::unexpected<Error> refused(const std::string& operation, const std::string& cause) {
  return failure({.kind = ErrorClass::kInvalidArgument, .operation = operation, .cause = cause});
}

std::optional<std::uint64_t> last_step(const CommitsState& state) {
  if (!state.table.empty()) return state.table.back().step;
  if (!state.past.empty()) return state.past.front().last_step;
  return std::nullopt;
}

bool files_rise(std::span<const FileEntry> files) {
  return std::ranges::adjacent_find(files, std::greater_equal(), &FileEntry::file) == files.end();
}

}  // namespace

CommitPlan plan_new(const DatasetId& dataset, std::uint64_t wall_ns) {
  Slot slot = {.dataset = dataset, .wall_ns = wall_ns};
  slot.table.checksum = metadata_checksum(generation_seed(kTableMagic, dataset, 0), {});
  CommitPlan plan = {.after = {.dataset = dataset}};
  plan.writes.push_back({0, bytes_of_page(encode_slot(slot))});
  plan.writes.push_back({kPageBytes, std::vector<std::byte>(kPageBytes)});
  return plan;
}

Result<CommitPlan> plan_publish(const CommitsState& state,
                                const StepEntry& step,
                                std::uint64_t wall_ns) {
  const std::string operation = "publish step " + std::to_string(step.step);
  if (step.step < state.first_step)
    return refused(operation, "steps before " + std::to_string(state.first_step) + " were dropped");
  const auto last = last_step(state);
  if (last && step.step <= *last)
    return refused(operation, "the last one is " + std::to_string(*last) + ": numbers must rise");
  if (step.files.empty() || step.files.size() > kFilesMax)
    return refused(operation, "it has " + std::to_string(step.files.size()) + " files");
  if (!files_rise(step.files)) return refused(operation, "its files do not rise");
  Planner planner(state, wall_ns);
  planner.add(step);
  return planner.plan();
}

Result<CommitPlan> plan_drop(const CommitsState& state,
                             std::uint64_t first_step,
                             std::uint64_t wall_ns) {
  if (first_step < state.first_step)
    return refused("drop steps before " + std::to_string(first_step),
                   "those before " + std::to_string(state.first_step) + " were dropped already");
  Planner planner(state, wall_ns);
  planner.drop_before(first_step);
  return planner.plan();
}

CommitPlan plan_anew(const CommitsState& known,
                     std::span<const StepEntry> steps,
                     std::uint64_t wall_ns) {
  Planner planner(known, wall_ns);
  planner.set(steps);
  return planner.plan();
}

}  // namespace forebay::format
