// SPDX-License-Identifier: Apache-2.0
// Plans new tables of a dataset from what is in its data files. write/repair.hpp carries the plan
// out. Data are never touched, so nothing that was readable before becomes unreadable.
#pragma once

#include "format/catalog.hpp"
#include "format/data_header.hpp"
#include "format/read_progress.hpp"

namespace forebay::format {

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
  std::vector<std::string> rewritten = {};  ///< paths of what the plan writes anew
  std::uint64_t scanned_bytes = 0;
};

/// The first page of a data file.
struct NewHeader {
  std::string path = {};
  HeaderPage page = {};
};

struct RepairPlan {
  RepairReport report = {};
  std::vector<NewHeader> headers = {};
  /// Of `commits`, in this order: two, so that both slots become whole; none if it is not damaged.
  std::vector<CommitPlan> generations = {};
};

/// Blocks; writes nothing. No program may be writing the dataset. Where tables are damaged, all
/// data files are searched for indexes, and then the data of steps that no table lists are read:
/// `progress` reports both passes. Of steps that tables list, indexes are read, data are not. A
/// file that cannot be read costs what is in it. kNotFound for a folder that is no dataset, or not
/// there; kUnsupported for a newer major version, kDamage if nothing shows which dataset it is,
/// kCancelled if `progress` returns false.
Result<RepairPlan> plan_repair(const std::string& folder, const OnProgress& progress = {});

}  // namespace forebay::format
