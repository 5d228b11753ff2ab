// SPDX-License-Identifier: Apache-2.0
// Makes the tables of a dataset anew from what is in its data files. Data are never touched, so
// nothing that was readable before becomes unreadable.
#pragma once

#include "format/catalog.hpp"
#include "format/read_progress.hpp"

namespace forebay::format {

enum class RepairMode : std::uint8_t { kLookOnly, kWrite };

/// What happened, or would happen, to one step.
struct RepairedStep {
  enum class Fate : std::uint8_t {
    kKept,       ///< a valid slot or past block tells of it
    kRecovered,  ///< found in the data files: all indexes, and all data whole
    kDamaged,    ///< found, but an index is missing or data are not whole: left out
    kDropped,    ///< an older slot tells of it, and its files are gone, as the newer one had said
  };
  std::uint64_t step = 0;
  Fate fate = Fate::kKept;
  std::string why = {};
};

struct RepairReport {
  std::vector<RepairedStep> steps = {};  ///< by rising numbers
  std::vector<Error> damages = {};       ///< of `commits`, headers, indexes, and of reading files
  std::vector<Error> remaining = {};     ///< of these, what is as it was: it cannot be mended
  std::vector<std::string> rewritten = {};  ///< paths of what was, or would be, written anew
  std::uint64_t scanned_bytes = 0;
};

/// Blocks; nobody may be writing the dataset. Nothing is written if nothing is damaged, or with
/// kLookOnly. Where tables are damaged all data files are looked through, and then the data of
/// steps that no table tells of are read: `progress` is told of the one and then of the other. Of
/// steps that tables tell of, indexes are read, data are not. A file that cannot be read costs what
/// is in it.
/// kNotFound for a folder that is no dataset, or not there; kUnsupported for a newer major version,
/// kDamage if nothing says which dataset it is, kCancelled as `progress` says, before anything is
/// written.
Result<RepairReport> repair(const std::string& folder,
                            RepairMode mode,
                            const OnProgress& progress = {});

}  // namespace forebay::format
