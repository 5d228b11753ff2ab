// SPDX-License-Identifier: Apache-2.0
#include "write/publisher.hpp"

#include <forebay/temporary_file.hpp>

#include <cerrno>
#include <filesystem>
#include <utility>

#include <sys/stat.h>

#include "base/folder_entries.hpp"
#include "base/wall_clock.hpp"
#include "format/commits_file.hpp"
#include "storage/file_system.hpp"
#include "write/fence.hpp"

namespace forebay::write {

namespace {

constexpr mode_t kFolderMode = 0777;  // less umask

Status write_all(storage::File& file, const format::CommitPlan& plan) {
  for (const format::CommitWrite& write : plan.writes) {
    const auto written = file.write_at(write.bytes, write.offset);
    if (!written) return failure(written.error());
  }
  return file.sync();
}

/// Under another name first: a `commits` that is there has a generation in force.
Status make_dataset(const std::string& folder, const std::string& path) {
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST)
    return failure(system_error({.operation = "make", .path = folder}, errno));
  const auto dataset = format::random_dataset_id();
  if (!dataset) return failure(dataset.error());
  auto made = TemporaryFile::create_beside(path);
  if (!made) return failure(made.error());
  auto file = storage::open_descriptor(made->descriptor(), made->path(),
                                       {.intent = storage::Intent::kWrite});
  if (!file) return failure(file.error());
  if (Status written = write_all(**file, format::plan_new(*dataset, wall_clock_ns())); !written)
    return written;
  return made->publish();
}

/// Whoever makes data files has made `commits` durable before.
bool has_data(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    const bool is_data = format::data_file_named(entry->path().filename().string()).has_value();
    if (is_data && entry->file_size(unknown) > format::kPageBytes && !unknown) return true;
  }
  return false;
}

Error needs_repair(const std::string& path, const std::string& cause) {
  return Error({.kind = ErrorClass::kDamage,
                .operation = "open for writing",
                .path = path,
                .cause = cause + "; steps may be lost by going on: run `forebay repair` first, or "
                                 "remove the dataset"});
}

/// The names of a dataset that has no step yet: who made it may have died before they were durable.
Status sync_names(const std::string& folder) {
  if (Status synced = sync_entries(folder); !synced) return synced;
  return sync_entry(folder);
}

}  // namespace

Publisher::Publisher(std::unique_ptr<storage::File> file, format::LoadedCommits loaded)
    : file_(std::move(file)),
      state_(std::move(loaded.state)),
      steps_(std::move(loaded.steps)),
      damages_(std::move(loaded.damages)) {}

Result<std::unique_ptr<Publisher>> Publisher::open(const std::string& folder) {
  const std::string path = folder + "/" + std::string(format::kCommitsName);
  auto file = storage::open_file(path, {.intent = storage::Intent::kWrite});
  if (!file && file.error().kind() == ErrorClass::kNotFound) {
    if (has_data(folder))
      return failure(needs_repair(path, "it is gone, and there are data files"));
    if (const Status made = make_dataset(folder, path); !made) return failure(made.error());
    file = storage::open_file(path, {.intent = storage::Intent::kWrite});
  }
  if (!file) return failure(file.error());
  auto publisher = open_on(std::move(*file));
  if (publisher) (*publisher)->note_place();
  if (!publisher || !(*publisher)->steps().empty()) return publisher;
  if (const Status synced = sync_names(folder); !synced) return failure(synced.error());
  return publisher;
}

Result<std::unique_ptr<Publisher>> Publisher::open_unread(const std::string& folder, Unread file) {
  using storage::Intent;
  const std::string path = folder + "/" + std::string(format::kCommitsName);
  const Intent intent = file == Unread::kNew ? Intent::kCreateNew : Intent::kWrite;
  auto opened = storage::open_file(path, {.intent = intent});
  if (!opened) return failure(opened.error());
  std::unique_ptr<Publisher> publisher(new Publisher(std::move(*opened), {}));
  publisher->note_place();
  return publisher;
}

void Publisher::note_place() {
  has_place_ = true;
  was_writable_ = !is_fenced(*file_);
}

Result<std::unique_ptr<Publisher>> Publisher::open_on(std::unique_ptr<storage::File> commits) {
  auto loaded = format::load_commits(*commits);
  if (!loaded) return failure(loaded.error());
  if (loaded->has_lost_past)
    return failure(needs_repair(commits->path(), loaded->damages.back().message()));
  return std::unique_ptr<Publisher>(new Publisher(std::move(commits), std::move(*loaded)));
}

Status Publisher::publish(const format::StepEntry& step) {
  auto plan = format::plan_publish(state_, step, wall_clock_ns());
  if (!plan) return failure(located(plan.error(), file_->path()));
  if (Status done = carry_out(std::move(*plan)); !done) return done;
  steps_.push_back(step);
  return {};
}

Status Publisher::drop_before(std::uint64_t step) {
  auto plan = format::plan_drop(state_, step, wall_clock_ns());
  if (!plan) return failure(located(plan.error(), file_->path()));
  if (Status done = carry_out(std::move(*plan)); !done) return done;
  std::erase_if(steps_, [step](const format::StepEntry& entry) { return entry.step < step; });
  return {};
}

/// Whoever has followed this writer, which was taken for dead, has put another file there.
Status Publisher::check_place() {
  if (!has_place_) return {};
  const auto there = storage::open_file(file_->path());
  const bool is_there = there && storage::identity_of(**there) == storage::identity_of(*file_);
  if (is_there && !(was_writable_ && is_fenced(*file_))) return {};
  if (!there && there.error().kind() != ErrorClass::kNotFound) return failure(there.error());
  replaced_ = there ? Error({.kind = ErrorClass::kPermission,
                             .operation = "publish in",
                             .path = file_->path(),
                             .cause = "another file was put there; somebody else writes the "
                                      "dataset now"})
                    : there.error();
  return failure(*replaced_);
}

Status Publisher::carry_out(format::CommitPlan plan) {
  if (replaced_) return failure(*replaced_);
  Status done = write_all(*file_, plan);
  if (done) done = check_place();
  if (done) {
    state_ = std::move(plan.after);
    return {};
  }
  if (replaced_) return done;
  // What was written may be there for readers, who must not take a step that failed for one that
  // is there. Where even this fails, the slot is torn or the disk is gone.
  const std::vector<std::byte> nothing(format::kPageBytes);
  const std::uint64_t slot = plan.after.generation % 2 * format::kPageBytes;
  if (file_->write_at(nothing, slot)) static_cast<void>(file_->sync());
  return done;
}

}  // namespace forebay::write
