// SPDX-License-Identifier: Apache-2.0
// Simulates what a power cut leaves of a directory whose changes and syncs were recorded
// (docs/formats/emufs-record.md). Its rules are harder than those of `forebay emufs replay`:
// sectors may be smaller than pages, and a file may be longer than its bytes. Names may be
// journaled.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/emufs/record.hpp"

namespace forebay::faults {

/// What makes names durable.
enum class NameDurability : std::uint8_t {
  kAnySync,        ///< names are journaled
  kDirectorySync,  ///< only a sync of the directory that contains them
};

struct PowerCut {
  std::size_t after = 0;  ///< number of records before the cut
  std::uint64_t seed = 1;
  std::uint64_t sector_bytes = 4096;  ///< each is written completely or not at all
  NameDurability name_durability = NameDurability::kAnySync;

  std::string text() const;
};

using Recording = std::vector<emufs::Record>;

/// Reads all records; an Error if the recording ends early or is damaged.
Result<Recording> read_recording(const std::string& path);

/// Fills an empty directory with what remains. The seed selects among unsynced changes: names up to
/// some change, in order; sectors, lengths and reservations in any combination.
void apply_power_cut(const PowerCut& cut, const Recording& recording, const std::string& directory);

}  // namespace forebay::faults
