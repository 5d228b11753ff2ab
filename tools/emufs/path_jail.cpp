// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/path_jail.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace forebay::emufs {

namespace {
constexpr int kPathFlags = O_PATH | O_CLOEXEC;
}

Result<PathJail> PathJail::open(const std::string& path) {
  Descriptor root(::open(path.c_str(), kPathFlags | O_DIRECTORY));
  if (root) return PathJail(std::move(root));
  return failure(system_error({.operation = "open the directory",
                               .path = path,
                               .cause = "name a directory that exists or can be created"},
                              errno));
}

ErrnoResult<Descriptor> PathJail::open_path(const std::vector<std::string_view>& names) const {
  Descriptor current(::openat(root_.get(), ".", kPathFlags | O_DIRECTORY));
  if (!current) return errno_failure(errno);
  for (const std::string_view name : names) {
    // A link on the way is not a directory: open_name() ends the walk with ENOTDIR.
    auto next = open_name(current.get(), std::string(name).c_str());
    if (!next) return next;
    current = std::move(*next);
  }
  return current;
}

ErrnoResult<Descriptor> open_name(int directory, const char* name) {
  Descriptor named(::openat(directory, name, kPathFlags | O_NOFOLLOW));
  if (!named) return errno_failure(errno);
  return named;
}

std::string path_of(const Descriptor& named) {
  return "/proc/self/fd/" + std::to_string(named.get());
}

ErrnoResult<Descriptor> open_for_writing(const Descriptor& named) {
  struct stat found{};
  if (::fstat(named.get(), &found) != 0) return errno_failure(errno);
  if (S_ISDIR(found.st_mode)) return errno_failure(EISDIR);
  if (S_ISLNK(found.st_mode)) return errno_failure(ELOOP);
  if (!S_ISREG(found.st_mode)) return errno_failure(EINVAL);
  Descriptor file(::open(path_of(named).c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno_failure(errno);
  return file;
}

}  // namespace forebay::emufs
