// SPDX-License-Identifier: Apache-2.0
// Makes a folder what a power cut could have left: which records are safe, which are lost, and the
// changes of the others made once more. docs/formats/emufs-record.md has the rules.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/emufs/arguments.hpp"
#include "tools/emufs/record.hpp"

namespace forebay::emufs {

/// For each record: does its change come back after a power cut? Of records that are no change,
/// true.
using Survivors = std::vector<bool>;

struct PowerCut {
  std::uint64_t after = UINT64_MAX;  ///< so many records were made
  Unsynced unsynced = Unsynced::kAll;
  std::uint64_t seed = 1;
};

/// Pure: the same arguments, the same result. `records` are all that there were; bytes of writes
/// are not read.
Survivors survivors_of(const std::vector<Record>& records, const PowerCut& cut);

/// Whether page `page` of a write that was not synced comes back where chance decides.
bool page_survives(std::uint64_t seed, std::uint64_t record, std::uint64_t page);

struct Replayed {
  std::uint64_t records = 0;  ///< in the recording, up to the cut
  std::uint64_t applied = 0;  ///< changes that were made
  std::uint64_t lost = 0;     ///< changes that a power cut took
  bool broke_off = false;     ///< the recording, which misses what was made after its end
};

Result<Replayed> replay(const ReplayCommand& command);
nlohmann::json to_json(const Replayed& replayed);

}  // namespace forebay::emufs
