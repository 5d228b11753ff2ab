// SPDX-License-Identifier: Apache-2.0
#include "base/directory_entries.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/retry_on_eintr.hpp"

namespace forebay {

Status unlink_if_exists(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return failure(system_error({.operation = "remove", .path = path}, errno));
}

Status sync_directory(const std::string& directory) {
  const Descriptor descriptor(retry_on_eintr(
      [&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!descriptor)
    return failure(system_error({.operation = "open directory", .path = directory}, errno));
  if (retry_on_eintr([&] { return ::fsync(descriptor.get()); }) == 0) return {};
  if (errno == EINVAL) return {};  // file systems that need no sync for this
  return failure(system_error({.operation = "sync directory", .path = directory}, errno));
}

Status sync_parent_directory(const std::string& path) {
  auto entry = std::filesystem::path(path);
  if (!entry.has_filename()) entry = entry.parent_path();  // the path ends with a slash
  const auto parent = entry.parent_path();
  return sync_directory(parent.empty() ? "." : parent.string());
}

}  // namespace forebay
