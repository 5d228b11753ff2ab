// SPDX-License-Identifier: Apache-2.0
#include "stream/file_core.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/uninterrupted.hpp"

namespace forebay::stream {

namespace {

/// A name is an entry of a folder, which is synced apart from the file.
Status sync_folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const Descriptor descriptor(
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!descriptor)
    return failure(system_error({.operation = "open folder", .path = folder}, errno));
  if (uninterrupted([&] { return ::fsync(descriptor.get()); }) == 0) return {};
  if (errno == EINVAL) return {};  // file systems that keep names durable by themselves
  return failure(system_error({.operation = "sync folder", .path = folder}, errno));
}

}  // namespace

FileCore::FileCore(Setup setup, Lane& lane, std::shared_ptr<Target> target)
    : setup_(std::move(setup)),
      lane_(lane),
      target_(std::move(target)),
      is_published_(setup_.publication == Publication::kAtOnce) {}

FileCore::~FileCore() {
  if (!is_published_.load()) ::unlink(setup_.written_path.c_str());
}

Status FileCore::publish() {
  if (is_published_.exchange(true)) {
    if (setup_.publication == Publication::kAtOnce) return sync_name();
    return failure({.kind = ErrorClass::kClosed,
                    .operation = "publish",
                    .path = path(),
                    .cause = "it was published already"});
  }
  if (std::rename(setup_.written_path.c_str(), path().c_str()) != 0) {
    const int error_number = errno;
    is_published_.store(false);
    return failure(system_error({.operation = "publish", .path = path()}, error_number));
  }
  return sync_name();
}

Status FileCore::sync_name() {
  if (name_is_durable_.load()) return {};
  if (const Status synced = sync_folder_of(path()); !synced) return synced;
  name_is_durable_.store(true);
  return {};
}

}  // namespace forebay::stream
