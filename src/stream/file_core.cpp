// SPDX-License-Identifier: Apache-2.0
#include "stream/file_core.hpp"

#include <utility>

#include "base/folder_entries.hpp"

namespace forebay::stream {

FileCore::FileCore(Setup setup, Lane& lane, std::shared_ptr<Target> target)
    : setup_(std::move(setup)), lane_(lane), target_(std::move(target)) {}

Status FileCore::publish() {
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
