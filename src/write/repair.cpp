// SPDX-License-Identifier: Apache-2.0
#include "write/repair.hpp"

#include <memory>
#include <utility>

#include "base/directory_entries.hpp"
#include "storage/file.hpp"
#include "write/commit_log.hpp"
#include "write/fence.hpp"
#include "write/lease.hpp"

namespace forebay::write {

namespace {

using OpenResult = Result<std::unique_ptr<CommitLog>>;

/// Null if there is no `commits`.
OpenResult open_fenced(const std::string& directory) {
  if (const Status fenced = fence_writers(directory); !fenced) return failure(fenced.error());
  OpenResult commit_log = CommitLog::open_for_repair(directory, CommitLog::RepairTarget::kExisting);
  if (!commit_log && commit_log.error().kind() == ErrorClass::kNotFound) return nullptr;
  return commit_log;
}

/// Writes in place, because no step depends on a header.
Status write_header(const format::HeaderWrite& header) {
  const auto file = storage::open_file(header.path, {.intent = storage::Intent::kWrite});
  if (!file) return failure(file.error());
  if (const auto done = (*file)->write_at(header.page, 0); !done) return failure(done.error());
  return (*file)->sync();
}

Status write_generations(CommitLog& commit_log, std::vector<format::CommitPlan> generations) {
  for (format::CommitPlan& generation : generations)
    if (Status done = commit_log.write_generation(std::move(generation)); !done) return done;
  return {};
}

}  // namespace

Result<format::RepairReport> repair(const std::string& directory,
                                    const format::ProgressCallback& progress) {
  const auto lease = Lease::acquire(directory);
  if (!lease) return failure(lease.error());
  OpenResult commit_log = open_fenced(directory);
  if (!commit_log) return failure(commit_log.error());
  if (const Status mine = (*lease)->check(); !mine) return failure(mine.error());
  auto plan = format::plan_repair(directory, progress);
  if (!plan) return failure(plan.error());
  if (const Status mine = (*lease)->check(); !mine) return failure(mine.error());
  for (const format::HeaderWrite& header : plan->headers)
    if (const Status done = write_header(header); !done) return failure(done.error());
  if (plan->generations.empty()) return std::move(plan->report);
  if (!*commit_log) {
    commit_log = CommitLog::open_for_repair(directory, CommitLog::RepairTarget::kNew);
    if (!commit_log) return failure(commit_log.error());
    if (const Status mine = (*lease)->check(); !mine) return failure(mine.error());
  }
  const Status written = write_generations(**commit_log, std::move(plan->generations));
  if (!written) return failure(written.error());
  if (const Status synced = sync_directory(directory); !synced) return failure(synced.error());
  return std::move(plan->report);
}

}  // namespace forebay::write
