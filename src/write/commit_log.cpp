// SPDX-License-Identifier: Apache-2.0
#include "write/commit_log.hpp"

#include <forebay/temporary_file.hpp>

#include <cerrno>
#include <filesystem>
#include <utility>

#include <sys/stat.h>

#include "base/directory_entries.hpp"
#include "base/wall_clock.hpp"
#include "format/load_commits.hpp"
#include "storage/file_system.hpp"
#include "write/fence.hpp"

namespace forebay::write {

namespace {

constexpr mode_t kDirectoryMode = 0777;  // reduced by the umask

Status write_all(storage::File& file, const format::CommitPlan& plan) {
  for (const format::CommitWrite& write : plan.writes) {
    const auto written = file.write_at(write.bytes, write.offset);
    if (!written) return failure(written.error());
  }
  return file.sync();
}

/// Writes a temporary file and renames it, because an existing `commits` must have a valid
/// generation.
Status create_dataset(const std::string& directory, const std::string& path) {
  if (::mkdir(directory.c_str(), kDirectoryMode) != 0 && errno != EEXIST)
    return failure(system_error({.operation = "create", .path = directory}, errno));
  const auto dataset = format::generate_dataset_id();
  if (!dataset) return failure(dataset.error());
  auto made = TemporaryFile::create_beside(path);
  if (!made) return failure(made.error());
  auto file = storage::open_descriptor(made->descriptor(), made->path(),
                                       {.intent = storage::Intent::kWrite});
  if (!file) return failure(file.error());
  if (Status written = write_all(**file, format::plan_create(*dataset, wall_clock_ns())); !written)
    return written;
  return made->publish();
}

/// True if the dataset was used: a holder makes `commits` durable before it creates data files.
bool has_data_files(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    const bool is_data =
        format::parse_data_file_name(entry->path().filename().string()).has_value();
    if (is_data && entry->file_size(unknown) > format::kPageBytes && !unknown) return true;
  }
  return false;
}

Error needs_repair_error(const std::string& path, const std::string& cause) {
  return Error({.kind = ErrorClass::kDamage,
                .operation = "open for writing",
                .path = path,
                .cause = cause + "; writing could lose steps: run `forebay repair` first, or "
                                 "remove the dataset"});
}

/// Makes the names of a dataset without steps durable: its creator may have been killed before.
Status sync_directory_entries(const std::string& directory) {
  if (Status synced = sync_directory(directory); !synced) return synced;
  return sync_parent_directory(directory);
}

}  // namespace

CommitLog::CommitLog(std::unique_ptr<storage::File> file, format::LoadedCommits loaded)
    : file_(std::move(file)),
      state_(std::move(loaded.state)),
      steps_(std::move(loaded.steps)),
      damages_(std::move(loaded.errors)) {}

Result<std::unique_ptr<CommitLog>> CommitLog::open(const std::string& directory) {
  const std::string path = directory + "/" + std::string(format::kCommitsName);
  auto file = storage::open_file(path, {.intent = storage::Intent::kWrite});
  if (!file && file.error().kind() == ErrorClass::kNotFound) {
    if (has_data_files(directory))
      return failure(needs_repair_error(path, "it is missing, and there are data files"));
    if (const Status made = create_dataset(directory, path); !made) return failure(made.error());
    file = storage::open_file(path, {.intent = storage::Intent::kWrite});
  }
  if (!file) return failure(file.error());
  auto commit_log = open_with_file(std::move(*file));
  if (commit_log) (*commit_log)->record_identity();
  if (!commit_log || !(*commit_log)->steps().empty()) return commit_log;
  if (const Status synced = sync_directory_entries(directory); !synced)
    return failure(synced.error());
  return commit_log;
}

Result<std::unique_ptr<CommitLog>> CommitLog::open_for_repair(const std::string& directory,
                                                              RepairTarget file) {
  using storage::Intent;
  const std::string path = directory + "/" + std::string(format::kCommitsName);
  const Intent intent = file == RepairTarget::kNew ? Intent::kCreateNew : Intent::kWrite;
  auto opened = storage::open_file(path, {.intent = intent});
  if (!opened) return failure(opened.error());
  std::unique_ptr<CommitLog> commit_log(new CommitLog(std::move(*opened), {}));
  commit_log->record_identity();
  return commit_log;
}

void CommitLog::record_identity() {
  has_path_ = true;
  has_write_bits_ = !is_fenced(*file_);
}

Result<std::unique_ptr<CommitLog>> CommitLog::open_with_file(
    std::unique_ptr<storage::File> commits) {
  auto loaded = format::load_commits(*commits);
  if (!loaded) return failure(loaded.error());
  if (loaded->has_lost_history)
    return failure(needs_repair_error(commits->path(), loaded->errors.back().message()));
  return std::unique_ptr<CommitLog>(new CommitLog(std::move(commits), std::move(*loaded)));
}

Status CommitLog::publish(const format::StepEntry& step) {
  auto plan = format::plan_commit(state_, step, wall_clock_ns());
  if (!plan) return failure(with_location(plan.error(), file_->path()));
  if (Status done = write_plan(std::move(*plan)); !done) return done;
  steps_.push_back(step);
  return {};
}

Status CommitLog::drop_before(std::uint64_t step) {
  auto plan = format::plan_drop(state_, step, wall_clock_ns());
  if (!plan) return failure(with_location(plan.error(), file_->path()));
  if (Status done = write_plan(std::move(*plan)); !done) return done;
  std::erase_if(steps_, [step](const format::StepEntry& entry) { return entry.step < step; });
  return {};
}

/// Fails if a later holder, which presumed this one dead, has replaced the file.
Status CommitLog::check_identity() {
  if (!has_path_) return {};
  const auto there = storage::open_file(file_->path());
  const bool is_there = there && storage::identity_of(**there) == storage::identity_of(*file_);
  if (is_there && !(has_write_bits_ && is_fenced(*file_))) return {};
  if (!there && there.error().kind() != ErrorClass::kNotFound) return failure(there.error());
  fenced_error_ = there
                      ? Error({.kind = ErrorClass::kPermission,
                               .operation = "publish in",
                               .path = file_->path(),
                               .cause = "another file has replaced it; another program writes the "
                                        "dataset now"})
                      : there.error();
  return failure(*fenced_error_);
}

Status CommitLog::write_plan(format::CommitPlan plan) {
  if (fenced_error_) return failure(*fenced_error_);
  Status done = write_all(*file_, plan);
  if (done) done = check_identity();
  if (done) {
    state_ = std::move(plan.new_state);
    is_slot_in_doubt_ = false;
    return {};
  }
  if (fenced_error_) return done;
  // Overwrites the slot, because readers may already see it, and the step has failed. If this fails
  // too, the slot may be torn, or valid although the step has failed.
  const std::vector<std::byte> nothing(format::kPageBytes);
  const std::uint64_t slot = plan.new_state.generation % 2 * format::kPageBytes;
  is_slot_in_doubt_ = !file_->write_at(nothing, slot) || !file_->sync();
  return done;
}

}  // namespace forebay::write
