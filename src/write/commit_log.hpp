// SPDX-License-Identifier: Apache-2.0
// CommitLog: the file `commits` of a dataset, as the holder of the lease uses it. A step is
// published when a table and a slot are written and one sync has returned. Until then, and after a
// failure, the previous generation is in force, with two exceptions. Another file has replaced
// `commits` (is_replaced()); or storage failed to overwrite the slot after the failure, and a
// reader may find the failed generation (is_in_doubt()). docs/formats/dataset.md#commits defines
// these terms.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/commits.hpp"
#include "format/load_commits.hpp"
#include "storage/file.hpp"

namespace forebay::write {

/// Blocks; one thread at a time. The caller of open() must hold the Lease.
class CommitLog {
 public:
  /// Opens the dataset in `directory`. If the directory or its `commits` does not exist, creates it
  /// durably. kDamage if `commits` has no valid generation or has lost steps, or is missing while
  /// data files hold more than their header: such a dataset is never created anew.
  static Result<std::unique_ptr<CommitLog>> open(const std::string& directory);

  /// For repair: opens an existing `commits` without reading it, kNotFound if there is none; or
  /// creates an empty one, an Error if there is one. The caller must check the lease afterwards: if
  /// it is still held, no other holder has replaced the file before.
  enum class RepairTarget : std::uint8_t { kExisting, kNew };
  static Result<std::unique_ptr<CommitLog>> open_for_repair(const std::string& directory,
                                                            RepairTarget file);

  /// As open(), for a file of any kind that is already open and has a valid generation.
  static Result<std::unique_ptr<CommitLog>> open_with_file(std::unique_ptr<storage::File> commits);

  const format::DatasetId& dataset() const noexcept { return state_.dataset; }
  std::uint64_t generation() const noexcept { return state_.generation; }
  /// The steps in force, by rising number.
  const std::vector<format::StepEntry>& steps() const noexcept { return steps_; }
  /// Damage that open() tolerated, for example a slot torn by a crash. The next publish()
  /// overwrites such a slot.
  const std::vector<Error>& damages() const noexcept { return damages_; }
  /// True if files of groups that steps() does not list can be removed. False if damage was
  /// tolerated or steps() is empty: repair may find steps in these files.
  bool can_collect_garbage() const noexcept { return damages_.empty() && !steps_.empty(); }

  /// True if another file has replaced `commits`. Then another holder decides which steps exist. It
  /// may have found the last step of this program published, although publish() has failed.
  bool is_replaced() const noexcept { return fenced_error_.has_value(); }
  /// After a failed publish(): true if a reader may still find the step published. So its files
  /// must stay. False again once a later call has written the slot.
  bool is_in_doubt() const noexcept { return is_replaced() || is_slot_in_doubt_; }

  /// Publishes one more step, whose data and names are durable. kInvalidArgument if its number does
  /// not rise. After a failure the slot is overwritten, so that the previous generation is in
  /// force, and the next call writes the same slot again. Once is_replaced(), nothing is written
  /// any more: kPermission, or kNotFound if the file is gone.
  Status publish(const format::StepEntry& step);

  /// Writes a generation that format::plan_repair() has planned. Fails as publish() does.
  Status write_generation(format::CommitPlan plan) { return write_plan(std::move(plan)); }

  /// Drops the steps below this one. Their files may be removed once this has succeeded.
  Status drop_before(std::uint64_t step);

 private:
  CommitLog(std::unique_ptr<storage::File> file, format::LoadedCommits loaded);
  void record_identity();
  Status write_plan(format::CommitPlan plan);
  Status check_identity();

  std::unique_ptr<storage::File> file_;
  bool has_path_ = false;        ///< opened by name
  bool has_write_bits_ = false;  ///< its write bits were set at opening
  std::optional<Error> fenced_error_;
  bool is_slot_in_doubt_ = false;  ///< a failed generation could not be overwritten
  format::CommitsState state_;
  std::vector<format::StepEntry> steps_;
  std::vector<Error> damages_;
};

}  // namespace forebay::write
