// SPDX-License-Identifier: Apache-2.0
// Names are looked up in /proc. What stands behind a number there may have changed since it was
// sent, into a pipe or a device even: it is looked at before it is opened, and again afterwards.
#include "shm/memory_name.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked_cast.hpp"
#include "base/uninterrupted.hpp"
#include "shm/memfd.hpp"

namespace forebay::shm {

namespace {

constexpr const char* kOperation = "open memory of a process of this node";

Status check_status(const struct stat& status, const MemoryName& name, const std::string& path) {
  const bool is_it = S_ISREG(status.st_mode) && status.st_ino == name.inode &&
                     std::cmp_equal(status.st_size, name.bytes);
  if (is_it) return {};
  return failure({.kind = ErrorClass::kDamage,
                  .operation = kOperation,
                  .path = path,
                  .cause = "it is not the memory of " + std::to_string(name.bytes) +
                           " bytes that was named: the number was used again"});
}

}  // namespace

Result<MemoryName> name_of_memory(const Descriptor& memfd) {
  struct stat status{};
  if (::fstat(memfd.get(), &status) != 0)
    return failure(system_error({.operation = "name shared memory"}, errno));
  return MemoryName{.process = checked_cast<std::uint32_t>(::getpid()),
                    .descriptor = memfd.get(),
                    .inode = status.st_ino,
                    .bytes = checked_cast<std::uint64_t>(status.st_size)};
}

Result<Descriptor> open_named_memory(const MemoryName& name) {
  const std::string path =
      "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return failure(system_error({.operation = kOperation, .path = path}, errno));
  }
  if (auto same = check_status(status, name, path); !same) return failure(same.error());
  Descriptor opened(
      uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK); }));
  if (!opened || ::fstat(opened.get(), &status) != 0) {
    return failure(system_error({.operation = kOperation, .path = path}, errno));
  }
  if (auto same = check_status(status, name, path); !same) return failure(same.error());
  if (auto sealed = check_sealed(opened); !sealed) return failure(located(sealed.error(), path));
  return opened;
}

}  // namespace forebay::shm
