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

/// Which records come back after a power cut. Pure: the same words, the same choice.
struct Survivors {
  /// Names and attributes come back up to this record: they go through a journal, in order.
  std::uint64_t names_until = 0;
  /// For each record: does data that it wrote come back? Of names it says nothing.
  std::vector<bool> data;
};

struct PowerCut {
  std::uint64_t after = UINT64_MAX;  ///< so many records were made
  Unsynced unsynced = Unsynced::kAll;
  std::uint64_t seed = 1;
};

/// `records` are all that there were, without the bytes of writes if the caller likes.
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
