// SPDX-License-Identifier: Apache-2.0
// The file `commits`: its slots, and the plan of the next generation. Pure: what has to be written
// is handed out, who writes it is somebody else's business. commits_file.hpp reads it.
#pragma once

#include "format/records.hpp"

namespace forebay::format {

inline constexpr std::uint64_t kSlotsBytes = 2 * kPageBytes;
inline constexpr std::size_t kSlotTableBytesMax = 3960;

/// A slot, decoded.
struct Slot {
  DatasetId dataset = {};
  std::uint64_t generation = 0;
  std::uint64_t first_step = 0;
  std::uint64_t steps = 0;  ///< in the table
  Reference table = {};     ///< offset 0: `table_here`
  Reference past = {};      ///< bytes 0: there is none
  std::uint64_t wall_ns = 0;
  std::vector<std::byte> table_here = {};

  friend bool operator==(const Slot&, const Slot&) = default;
};

using SlotPage = std::array<std::byte, kPageBytes>;

SlotPage encode_slot(const Slot& slot);
/// `number` is 0 or 1: a generation in the wrong slot is damage.
Result<Slot> decode_slot(std::span<const std::byte> page,
                         std::uint64_t number,
                         const std::string& path);

/// The table of a slot out of its bytes, wherever they lay; checked against the reference.
Result<std::vector<StepEntry>> decode_table(const Slot& slot,
                                            std::span<const std::byte> bytes,
                                            const std::string& path);

/// A past block, decoded.
struct PastBlock {
  std::uint64_t generation = 0;
  Reference before = {};  ///< bytes 0: it is the first
  std::uint64_t before_last_step = 0;
  std::vector<StepEntry> steps = {};

  friend bool operator==(const PastBlock&, const PastBlock&) = default;
};

std::vector<std::byte> encode_past(const DatasetId& dataset, const PastBlock& block);
Reference past_reference(const DatasetId& dataset,
                         std::uint64_t generation,
                         std::uint64_t offset,
                         std::span<const std::byte> encoded) noexcept;
/// Checked against `place` and `dataset`.
Result<PastBlock> decode_past(const DatasetId& dataset,
                              const Reference& place,
                              std::span<const std::byte> bytes,
                              const std::string& path);

/// A past block that is alive: where it is and what it has.
struct PastPlace {
  Reference reference = {};
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;

  friend bool operator==(const PastPlace&, const PastPlace&) = default;
};

/// What a generation says, and where it lies: all that is needed to plan the next one.
struct CommitsState {
  DatasetId dataset = {};
  std::uint64_t generation = 0;
  std::uint64_t first_step = 0;
  std::vector<StepEntry> table = {};  ///< the newest steps
  ByteRange table_place = {};         ///< empty: in the slot
  std::vector<PastPlace> past = {};   ///< newest first; those with a step that is alive

  friend bool operator==(const CommitsState&, const CommitsState&) = default;
};

/// Bytes for one place of `commits`.
struct CommitWrite {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes = {};
};

/// A generation to be written: all of `writes`, in this order, then one sync. Until that has
/// succeeded the generation before is in force, whatever happened.
struct CommitPlan {
  std::vector<CommitWrite> writes = {};
  CommitsState after = {};
};

/// Generation 0 of a new dataset: both slots, the second one empty.
CommitPlan plan_new(const DatasetId& dataset, std::uint64_t wall_ns);

/// The generation after `state`, with one more step. kInvalidArgument if its number does not rise,
/// its files do not rise or are none, or it is below first_step.
Result<CommitPlan> plan_publish(const CommitsState& state,
                                const StepEntry& step,
                                std::uint64_t wall_ns);

/// The generation after `state`, in which the first step that is alive is `first_step`.
/// kInvalidArgument if that is below what it was.
Result<CommitPlan> plan_drop(const CommitsState& state,
                             std::uint64_t first_step,
                             std::uint64_t wall_ns);

/// The generation after `known`, with exactly these steps, which rise, and none of its past blocks:
/// for repair. `known` says what must not be overwritten, and its generation must be the highest
/// that is in a slot.
CommitPlan plan_anew(const CommitsState& known,
                     std::span<const StepEntry> steps,
                     std::uint64_t wall_ns);

}  // namespace forebay::format
