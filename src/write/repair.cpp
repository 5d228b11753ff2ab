// SPDX-License-Identifier: Apache-2.0
#include "write/repair.hpp"

#include <memory>
#include <utility>

#include "base/folder_entries.hpp"
#include "storage/file.hpp"
#include "write/fence.hpp"
#include "write/lease.hpp"
#include "write/publisher.hpp"

namespace forebay::write {

namespace {

using Opened = Result<std::unique_ptr<Publisher>>;

/// Null if there is no `commits`.
Opened open_fenced(const std::string& folder) {
  if (const Status fenced = fence_commits(folder); !fenced) return failure(fenced.error());
  Opened publisher = Publisher::open_unread(folder, Publisher::Unread::kExisting);
  if (!publisher && publisher.error().kind() == ErrorClass::kNotFound) return nullptr;
  return publisher;
}

/// In place: no step depends on a header.
Status write_header(const format::NewHeader& header) {
  const auto file = storage::open_file(header.path, {.intent = storage::Intent::kWrite});
  if (!file) return failure(file.error());
  if (const auto done = (*file)->write_at(header.page, 0); !done) return failure(done.error());
  return (*file)->sync();
}

Status write_generations(Publisher& publisher, std::vector<format::CommitPlan> generations) {
  for (format::CommitPlan& generation : generations)
    if (Status done = publisher.write_generation(std::move(generation)); !done) return done;
  return {};
}

}  // namespace

Result<format::RepairReport> repair(const std::string& folder, const format::OnProgress& progress) {
  const auto lease = Lease::acquire(folder);
  if (!lease) return failure(lease.error());
  Opened publisher = open_fenced(folder);
  if (!publisher) return failure(publisher.error());
  if (const Status mine = (*lease)->check(); !mine) return failure(mine.error());
  auto plan = format::plan_repair(folder, progress);
  if (!plan) return failure(plan.error());
  if (const Status mine = (*lease)->check(); !mine) return failure(mine.error());
  for (const format::NewHeader& header : plan->headers)
    if (const Status done = write_header(header); !done) return failure(done.error());
  if (plan->generations.empty()) return std::move(plan->report);
  if (!*publisher) {
    publisher = Publisher::open_unread(folder, Publisher::Unread::kNew);
    if (!publisher) return failure(publisher.error());
    if (const Status mine = (*lease)->check(); !mine) return failure(mine.error());
  }
  const Status written = write_generations(**publisher, std::move(plan->generations));
  if (!written) return failure(written.error());
  if (const Status synced = sync_entries(folder); !synced) return failure(synced.error());
  return std::move(plan->report);
}

}  // namespace forebay::write
