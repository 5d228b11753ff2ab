// SPDX-License-Identifier: Apache-2.0
#include "base/folder_entries.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/uninterrupted.hpp"

namespace forebay {

Status remove_entry(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return failure(system_error({.operation = "remove", .path = path}, errno));
}

Status sync_entries(const std::string& folder) {
  const Descriptor descriptor(
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!descriptor)
    return failure(system_error({.operation = "open folder", .path = folder}, errno));
  if (uninterrupted([&] { return ::fsync(descriptor.get()); }) == 0) return {};
  if (errno == EINVAL) return {};  // file systems that keep names durable by themselves
  return failure(system_error({.operation = "sync folder", .path = folder}, errno));
}

Status sync_entry(const std::string& path) {
  auto entry = std::filesystem::path(path);
  if (!entry.has_filename()) entry = entry.parent_path();  // ends with a slash
  const auto parent = entry.parent_path();
  return sync_entries(parent.empty() ? "." : parent.string());
}

}  // namespace forebay
