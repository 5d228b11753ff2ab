// SPDX-License-Identifier: Apache-2.0
// Publisher: the file `commits` of a dataset, written by one process alone. A step is there when
// one table and one slot are written and one sync has returned; until then, and after any failure,
// what was there before is in force.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/commits.hpp"
#include "format/commits_file.hpp"
#include "storage/file.hpp"

namespace forebay::write {

/// Blocks; one thread at a time. Whoever opens one holds the Lease.
class Publisher {
 public:
  /// The dataset in `folder`; a folder that is not there, or in which there is no `commits` yet, is
  /// made one, with everything durable. A `commits` in which nothing is in force, or that has lost
  /// steps, is kDamage, never begun anew, and so is none where there are data.
  static Result<std::unique_ptr<Publisher>> open(const std::string& folder);

  /// For repair: with `commits` as it is, which is not read, or with a new one, still empty.
  /// kNotFound if there is none or, for a new one, an Error if there is one. The caller checks the
  /// lease after this: if it is still held, no other writer has put another file there before.
  enum class Unread : std::uint8_t { kExisting, kNew };
  static Result<std::unique_ptr<Publisher>> open_unread(const std::string& folder, Unread file);

  /// The same on files of any kind, one that has generation 0 or later in it.
  static Result<std::unique_ptr<Publisher>> open_on(std::unique_ptr<storage::File> commits);

  const format::DatasetId& dataset() const noexcept { return state_.dataset; }
  std::uint64_t generation() const noexcept { return state_.generation; }
  /// Those that are in force, by rising numbers.
  const std::vector<format::StepEntry>& steps() const noexcept { return steps_; }
  /// What was passed over when it was opened. A slot that was torn by a crash is one of these, and
  /// is written over by the next publish().
  const std::vector<Error>& damages() const noexcept { return damages_; }
  /// Whether files of which steps() says nothing are nobody's. Where something was passed over, or
  /// there never was a step, repair may find steps in them.
  bool may_remove_others() const noexcept { return damages_.empty() && !steps_.empty(); }

  /// Whether another file was found in the place of `commits`: then somebody else decides which
  /// steps there are, and the last one that was written may be one of these though it failed.
  bool is_replaced() const noexcept { return replaced_.has_value(); }

  /// One step more, whose data and names are durable. kInvalidArgument if its number does not rise.
  /// After a failure the generation before is in force, and the next call writes the same slot
  /// again, unless is_replaced(), after which nothing is written any more: kPermission, or
  /// kNotFound if the file is gone.
  Status publish(const format::StepEntry& step);

  /// Writes a generation that format::plan_repair() has planned. On failure as publish().
  Status write_generation(format::CommitPlan plan) { return carry_out(std::move(plan)); }

  /// Steps below this one are there no more. Their files may go when this has succeeded.
  Status drop_before(std::uint64_t step);

 private:
  Publisher(std::unique_ptr<storage::File> file, format::LoadedCommits loaded);
  void note_place();
  Status carry_out(format::CommitPlan plan);
  Status check_place();

  std::unique_ptr<storage::File> file_;
  bool has_place_ = false;     ///< it was opened by its name
  bool was_writable_ = false;  ///< its write bits were set when it was opened
  std::optional<Error> replaced_;
  format::CommitsState state_;
  std::vector<format::StepEntry> steps_;
  std::vector<Error> damages_;
};

}  // namespace forebay::write
