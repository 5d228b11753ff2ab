// SPDX-License-Identifier: Apache-2.0
#include "shm/memfd.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked_cast.hpp"

namespace forebay::shm {

namespace {

// Since Linux 6.3. The kernel logs a warning about a memfd without this flag or its opposite.
#ifdef MFD_NOEXEC_SEAL
constexpr unsigned kNoExecSeal = MFD_NOEXEC_SEAL;
#else
constexpr unsigned kNoExecSeal = 8;
#endif

/// Size of one fallocate() call. A signal undoes the whole call, so a large one may never complete
/// in a program with frequent signals.
constexpr std::uint64_t kReserveBytesMax = 4U << 20U;

Error memory_error(const char* operation, int error_number) {
  return system_error({.operation = operation}, error_number);
}

/// A forbidden memfd_create() fails for any size, so the Error then states what to allow.
Error memfd_error(int error_number) {
  const bool is_forbidden =
      error_number == EPERM || error_number == EACCES || error_number == ENOSYS;
  const char* const advice =
      "the system refuses memfd_create, which provides the memory of sessions; allow it, for "
      "example in the seccomp profile of the container";
  return system_error({.operation = "create shared memory", .cause = is_forbidden ? advice : ""},
                      error_number);
}

}  // namespace

std::uint64_t page_bytes() noexcept {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

int mmap_protection(Protection protection) noexcept {
  return protection == Protection::kReadOnly ? PROT_READ : PROT_READ | PROT_WRITE;
}

Result<Descriptor> create_memfd(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Descriptor memfd(::memfd_create(name, kFlags | kNoExecSeal));
  if (!memfd && errno == EINVAL) memfd = Descriptor(::memfd_create(name, kFlags));
  if (!memfd) return failure(memfd_error(errno));
  if (::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    return failure(memory_error("seal shared memory", errno));
  return memfd;
}

Status reserve_memory(const Descriptor& memfd, std::uint64_t first, std::uint64_t last) {
  // fallocate(), unlike ftruncate(), allocates the memory now.
  for (std::uint64_t at = first; at < last;) {
    const std::uint64_t size_bytes = std::min(kReserveBytesMax, last - at);
    if (::fallocate(memfd.get(), 0, checked_cast<off_t>(at), checked_cast<off_t>(size_bytes)) ==
        0) {
      at += size_bytes;
    } else if (errno != EINTR) {
      return failure(memory_error("reserve shared memory", errno));
    }
  }
  return {};
}

void release_memory(const Descriptor& memfd, std::uint64_t first, std::uint64_t last) noexcept {
  if (first == last) return;
  static_cast<void>(::fallocate(memfd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                checked_cast<off_t>(first), checked_cast<off_t>(last - first)));
}

Status check_sealed(const Descriptor& memfd) {
  const int seals = ::fcntl(memfd.get(), F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "attach shared memory",
                  .error_number = seals < 0 ? errno : 0,
                  .cause = "the memory is not sealed against shrinking"});
}

Result<std::uint64_t> memfd_bytes(const Descriptor& memfd) {
  struct stat status{};
  if (::fstat(memfd.get(), &status) != 0)
    return failure(memory_error("attach shared memory", errno));
  return checked_cast<std::uint64_t>(status.st_size);
}

Status check_memfd(const Descriptor& memfd, std::uint64_t size_bytes) {
  if (auto sealed = check_sealed(memfd); !sealed) return sealed;
  if (size_bytes == 0) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "attach shared memory",
                    .cause = "the size is 0"});
  }
  const auto found = memfd_bytes(memfd);
  if (!found) return failure(found.error());
  if (*found >= size_bytes) return {};
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "attach shared memory",
                  .cause = "the memory has " + std::to_string(*found) + " bytes where " +
                           std::to_string(size_bytes) + " are expected"});
}

Result<Descriptor> share_memfd(const Descriptor& memfd, Protection protection) {
  if (protection == Protection::kReadWrite) return memfd.duplicate();
  // A duplicate would keep write access; a new open() requests read access only.
  const std::string path = "/proc/self/fd/" + std::to_string(memfd.get());
  Descriptor copy(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!copy) {
    return failure(
        system_error({.operation = "open shared memory for reading", .path = path}, errno));
  }
  return copy;
}

}  // namespace forebay::shm
