// SPDX-License-Identifier: Apache-2.0
// Produces a state of a directory that a power cut could have left: decides which records survive
// and which are lost, and repeats the surviving changes. docs/formats/emufs-record.md has the
// rules.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/emufs/record.hpp"

namespace forebay::emufs {

/// For each record, whether its change survives a power cut. True for records that are not changes.
using SurvivingRecords = std::vector<bool>;

enum class Unsynced : std::uint8_t { kAll, kNone, kRandom };

struct ReplayCommand {
  std::string record;
  std::string directory;
  std::uint64_t cut = UINT64_MAX;  ///< replay only the first `cut` records
  Unsynced unsynced = Unsynced::kAll;
  std::uint64_t seed = 1;
};

struct CrashPoint {
  std::uint64_t after = UINT64_MAX;  ///< number of records before the cut
  Unsynced unsynced = Unsynced::kAll;
  std::uint64_t seed = 1;
};

/// Pure: equal arguments give equal results. `records` are all records; the bytes of writes are not
/// read.
SurvivingRecords surviving_records(const std::vector<Record>& records, const CrashPoint& cut);

/// Whether page `page` of an unsynced write survives with Unsynced::kRandom.
bool is_page_kept(std::uint64_t seed, std::uint64_t record, std::uint64_t page);

struct ReplayResult {
  std::uint64_t records = 0;   ///< in the recording, up to the cut
  std::uint64_t applied = 0;   ///< changes that were repeated
  std::uint64_t lost = 0;      ///< changes that the power cut discarded
  bool is_incomplete = false;  ///< the recording lacks changes after its end
};

Result<ReplayResult> replay(const ReplayCommand& command);
nlohmann::json to_json(const ReplayResult& replayed);

}  // namespace forebay::emufs
