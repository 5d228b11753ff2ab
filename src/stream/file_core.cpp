// SPDX-License-Identifier: Apache-2.0
#include "stream/file_core.hpp"

#include <utility>

#include "base/folder_entries.hpp"

namespace forebay::stream {

FileCore::FileCore(Setup setup, Lane& lane, std::shared_ptr<Target> target)
    : setup_(std::move(setup)), lane_(lane), target_(std::move(target)) {}

/// Frees space beyond the end of a shared file. Nothing may be under way, in any process.
Status FileCore::free_reserve() {
  if (setup_.reserved_bytes == 0) return {};
  const auto size = target_->file().size();
  if (!size) return failure(size.error());
  return *size < setup_.reserved_bytes ? target_->file().truncate(*size) : Status();
}

Status FileCore::publish() {
  if (const Status freed = free_reserve(); !freed) return freed;
  if (!setup_.temporary) return sync_name();
  const std::lock_guard lock(publishing_);
  if (!setup_.temporary->is_published()) return setup_.temporary->publish();
  return failure({.kind = ErrorClass::kClosed,
                  .operation = "publish",
                  .path = path(),
                  .cause = "it was published already"});
}

Status FileCore::sync_name() {
  if (name_is_durable_.load()) return {};
  if (const Status synced = sync_entry(path()); !synced) return synced;
  name_is_durable_.store(true);
  return {};
}

}  // namespace forebay::stream
