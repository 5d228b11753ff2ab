// SPDX-License-Identifier: Apache-2.0
// plan_repair(): plans new tables of a dataset from its data files. write/repair.hpp executes the
// plan. Data are never modified, so readable data stay readable.
#pragma once

#include "format/catalog.hpp"
#include "format/data_header.hpp"
#include "format/read_progress.hpp"

namespace forebay::format {

/// Outcome of a repair for one step.
struct RepairedStep {
  enum class Outcome : std::uint8_t {
    kKept,       ///< listed by a valid slot or history table
    kRecovered,  ///< found in the data files with all indexes and valid data
    kDamaged,    ///< found, but an index is missing or data are not valid: left out
    /// Listed by an older slot, but its files are missing, as the newer slot had recorded.
    kDropped,
  };
  std::uint64_t step = 0;
  Outcome outcome = Outcome::kKept;
  std::string reason = {};
};

struct RepairReport {
  std::vector<RepairedStep> steps = {};  ///< by ascending numbers
  std::vector<Error> errors = {};        ///< of `commits`, headers, indexes, and of reading files
  std::vector<Error> unrepaired = {};    ///< those of `errors` that the plan cannot repair
  std::vector<std::string> rewritten_paths = {};  ///< paths of files that the plan rewrites
  std::uint64_t scanned_bytes = 0;
};

/// The first page of a data file.
struct HeaderWrite {
  std::string path = {};
  HeaderPage page = {};
};

struct RepairPlan {
  RepairReport report = {};
  std::vector<HeaderWrite> headers = {};
  /// Of `commits`, in this order: two, so that both slots become valid; none if it is not damaged.
  std::vector<CommitPlan> generations = {};
};

/// Blocks; writes nothing. No program may be writing the dataset. If tables are damaged, all data
/// files are searched for indexes, then the data of steps that no table lists are read; `progress`
/// reports both passes. For listed steps, indexes are read and data are not. An unreadable file
/// loses only its own content. kNotFound for a directory that is no dataset, or does not exist;
/// kUnsupported for a newer major version; kDamage if nothing identifies the dataset; kCancelled if
/// `progress` returns false.
Result<RepairPlan> plan_repair(const std::string& directory, const ProgressCallback& progress = {});

}  // namespace forebay::format
