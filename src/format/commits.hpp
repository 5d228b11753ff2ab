// SPDX-License-Identifier: Apache-2.0
// The file `commits`: its slots, and the plan of the next generation. Pure: the plan contains the
// bytes to write, and the caller writes them. load_commits.hpp reads the file.
#pragma once

#include "format/records.hpp"

namespace forebay::format {

inline constexpr std::uint64_t kSlotsBytes = 2 * kPageBytes;
inline constexpr std::size_t kInlineTableBytesMax = 3960;

/// A decoded slot.
struct CommitSlot {
  DatasetId dataset = {};
  std::uint64_t generation = 0;
  std::uint64_t first_step = 0;
  std::uint64_t steps = 0;  ///< in the table
  Reference table = {};     ///< offset 0: `inline_table`
  Reference history = {};   ///< bytes 0: none
  std::uint64_t wall_ns = 0;
  std::vector<std::byte> inline_table = {};

  friend bool operator==(const CommitSlot&, const CommitSlot&) = default;
};

using CommitSlotPage = std::array<std::byte, kPageBytes>;

CommitSlotPage encode_slot(const CommitSlot& slot);
/// `number` is 0 or 1: a generation in the wrong slot is damage.
Result<CommitSlot> decode_slot(std::span<const std::byte> page,
                               std::uint64_t number,
                               const std::string& path);

/// Decodes the table of a slot from `bytes`, which may come from the slot or from behind the slots;
/// checks them against the reference.
Result<std::vector<StepEntry>> decode_table(const CommitSlot& slot,
                                            std::span<const std::byte> bytes,
                                            const std::string& path);

/// A decoded history table.
struct HistoryTable {
  std::uint64_t generation = 0;
  Reference previous = {};  ///< bytes 0: this table is the first
  std::uint64_t previous_last_step = 0;
  std::vector<StepEntry> steps = {};

  friend bool operator==(const HistoryTable&, const HistoryTable&) = default;
};

std::vector<std::byte> encode_history_table(const DatasetId& dataset, const HistoryTable& block);
Reference history_reference(const DatasetId& dataset,
                            std::uint64_t generation,
                            std::uint64_t offset,
                            std::span<const std::byte> encoded) noexcept;
/// Checks the bytes against `place` and `dataset`.
Result<HistoryTable> decode_history_table(const DatasetId& dataset,
                                          const Reference& place,
                                          std::span<const std::byte> bytes,
                                          const std::string& path);

/// A live history table: its place and its steps.
struct HistoryTableRef {
  Reference reference = {};
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;

  friend bool operator==(const HistoryTableRef&, const HistoryTableRef&) = default;
};

/// Content and place of a generation: all that is needed to plan the next one.
struct CommitsState {
  DatasetId dataset = {};
  std::uint64_t generation = 0;
  std::uint64_t first_step = 0;
  std::vector<StepEntry> table = {};          ///< the newest steps
  ByteRange table_range = {};                 ///< empty: in the slot
  std::vector<HistoryTableRef> history = {};  ///< newest first; those with a live step

  friend bool operator==(const CommitsState&, const CommitsState&) = default;
};

/// Bytes to write at one place of `commits`.
struct CommitWrite {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes = {};
};

/// A generation to write: all of `writes`, in this order, then one sync. Until the sync has
/// succeeded, the preceding generation stays valid, whatever happens.
struct CommitPlan {
  std::vector<CommitWrite> writes = {};
  CommitsState new_state = {};
};

/// Generation 0 of a new dataset: both slots, the second one empty.
CommitPlan plan_create(const DatasetId& dataset, std::uint64_t wall_ns);

/// The generation after `state`, with one more step. kInvalidArgument if the step's number does not
/// rise or is below first_step, or its files do not rise or are none.
Result<CommitPlan> plan_commit(const CommitsState& state,
                               const StepEntry& step,
                               std::uint64_t wall_ns);

/// The generation after `state`, whose first live step is `first_step`. kInvalidArgument if that is
/// below the present one.
Result<CommitPlan> plan_drop(const CommitsState& state,
                             std::uint64_t first_step,
                             std::uint64_t wall_ns);

/// The generation after `state`, with exactly these steps, which rise, and without its history
/// tables. For repair. `state` defines the bytes that must not be overwritten; its generation must
/// be the highest in any slot.
CommitPlan plan_rebuild(const CommitsState& state,
                        std::span<const StepEntry> steps,
                        std::uint64_t wall_ns);

}  // namespace forebay::format
