// SPDX-License-Identifier: Apache-2.0
#include "stream/file_core.hpp"

#include <utility>

#include "base/directory_entries.hpp"

namespace forebay::stream {

FileCore::FileCore(Setup setup, StreamDevice& device, std::shared_ptr<OutputFileState> file_state)
    : setup_(std::move(setup)), device_(device), file_state_(std::move(file_state)) {}

/// Frees space beyond the end of a shared file. No operation may be in flight, in any process.
Status FileCore::free_excess_space() {
  if (setup_.reserved_bytes == 0) return {};
  const auto size = file_state_->file().size();
  if (!size) return failure(size.error());
  return *size < setup_.reserved_bytes ? file_state_->file().truncate(*size) : Status();
}

Status FileCore::publish() {
  if (const Status freed = free_excess_space(); !freed) return freed;
  if (!setup_.temporary) return sync_name();
  const std::lock_guard lock(publish_mutex_);
  if (!setup_.temporary->is_published()) return setup_.temporary->publish();
  return failure({.kind = ErrorClass::kClosed,
                  .operation = "publish",
                  .path = path(),
                  .cause = "it was published already"});
}

Status FileCore::sync_name() {
  if (is_name_durable_.load()) return {};
  if (const Status synced = sync_parent_directory(path()); !synced) return synced;
  is_name_durable_.store(true);
  return {};
}

}  // namespace forebay::stream
