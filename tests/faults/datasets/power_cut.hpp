// SPDX-License-Identifier: Apache-2.0
// What a power cut leaves of a folder whose changes and syncs were recorded
// (docs/formats/emufs-record.md), by harder rules than those of `forebay emufs replay`: sectors may
// be smaller than pages, and a file may be longer than its bytes. Names may go through a journal.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/emufs/record.hpp"

namespace forebay::faults {

/// What makes names durable.
enum class Names : std::uint8_t {
  kByAnySync,       ///< they go through a journal
  kByTheirFolders,  ///< a sync of the folder that they are in, and nothing else
};

struct PowerCut {
  std::size_t after = 0;  ///< so many records were made
  std::uint64_t seed = 1;
  std::uint64_t sector_bytes = 4096;  ///< each is written whole or not at all
  Names names = Names::kByAnySync;

  std::string text() const;
};

using Recording = std::vector<emufs::Record>;

/// All of it; an Error if the recording broke off or is damaged.
Result<Recording> read_recording(const std::string& path);

/// Fills an empty folder with what is left. Of what was not synced, the seed chooses: names come
/// back up to some change, in order; sectors, lengths and reservations in any combination.
void leave_after(const PowerCut& cut, const Recording& recording, const std::string& folder);

}  // namespace forebay::faults
