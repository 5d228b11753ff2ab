// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/enclosure.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace forebay::emufs {

namespace {
constexpr int kOnlyNames = O_PATH | O_CLOEXEC;
}

Result<Enclosure> Enclosure::open(const std::string& path) {
  Descriptor root(::open(path.c_str(), kOnlyNames | O_DIRECTORY));
  if (root) return Enclosure(std::move(root));
  return failure(system_error({.operation = "open the folder",
                               .path = path,
                               .cause = "name a folder that is there, or can be made"},
                              errno));
}

Outcome<Descriptor> Enclosure::at(const std::vector<std::string_view>& names) const {
  Descriptor here(::openat(root_.get(), ".", kOnlyNames | O_DIRECTORY));
  if (!here) return fails(errno);
  for (const std::string_view name : names) {
    // A link on the way is no folder, and ends the walk with ENOTDIR.
    auto next = named_in(here.get(), std::string(name).c_str());
    if (!next) return next;
    here = std::move(*next);
  }
  return here;
}

Outcome<Descriptor> named_in(int folder, const char* name) {
  Descriptor named(::openat(folder, name, kOnlyNames | O_NOFOLLOW));
  if (!named) return fails(errno);
  return named;
}

std::string path_of(const Descriptor& named) {
  return "/proc/self/fd/" + std::to_string(named.get());
}

Outcome<Descriptor> for_writing(const Descriptor& named) {
  struct stat found{};
  if (::fstat(named.get(), &found) != 0) return fails(errno);
  if (S_ISDIR(found.st_mode)) return fails(EISDIR);
  if (S_ISLNK(found.st_mode)) return fails(ELOOP);
  if (!S_ISREG(found.st_mode)) return fails(EINVAL);
  Descriptor file(::open(path_of(named).c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return fails(errno);
  return file;
}

}  // namespace forebay::emufs
