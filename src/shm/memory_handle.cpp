// SPDX-License-Identifier: Apache-2.0
// Handles are looked up in /proc. The descriptor there may have changed since the handle was sent,
// even to a pipe or a device: it is checked before it is opened, and again afterwards.
#include "shm/memory_handle.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked_cast.hpp"
#include "base/retry_on_eintr.hpp"
#include "shm/memfd.hpp"

namespace forebay::shm {

namespace {

constexpr const char* kOperation = "open memory of a process of this node";

Status check_status(const struct stat& status,
                    const MemoryHandle& handle,
                    const std::string& path) {
  const bool is_same = S_ISREG(status.st_mode) && status.st_ino == handle.inode &&
                       std::cmp_equal(status.st_size, handle.bytes);
  if (is_same) return {};
  return failure({.kind = ErrorClass::kDamage,
                  .operation = kOperation,
                  .path = path,
                  .cause = "not the memory of " + std::to_string(handle.bytes) +
                           " bytes of the handle: the descriptor number was reused"});
}

}  // namespace

Result<MemoryHandle> memory_handle_of(const Descriptor& memfd) {
  struct stat status{};
  if (::fstat(memfd.get(), &status) != 0)
    return failure(system_error({.operation = "get the handle of shared memory"}, errno));
  return MemoryHandle{.process = checked_cast<std::uint32_t>(::getpid()),
                      .descriptor = memfd.get(),
                      .inode = status.st_ino,
                      .bytes = checked_cast<std::uint64_t>(status.st_size)};
}

Result<Descriptor> open_memory_handle(const MemoryHandle& handle) {
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.descriptor);
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return failure(system_error({.operation = kOperation, .path = path}, errno));
  }
  if (auto same = check_status(status, handle, path); !same) return failure(same.error());
  Descriptor opened(
      retry_on_eintr([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK); }));
  if (!opened || ::fstat(opened.get(), &status) != 0) {
    return failure(system_error({.operation = kOperation, .path = path}, errno));
  }
  if (auto same = check_status(status, handle, path); !same) return failure(same.error());
  if (auto sealed = check_sealed(opened); !sealed)
    return failure(with_location(sealed.error(), path));
  return opened;
}

}  // namespace forebay::shm
