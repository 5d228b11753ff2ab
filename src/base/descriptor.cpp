// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/retry_on_eintr.hpp"

namespace forebay {

namespace {

constexpr int kFirstNonStdio = 3;

}  // namespace

int move_above_stdio(int number) noexcept {
  if (number < 0 || number >= kFirstNonStdio) return number < 0 ? -1 : number;
  const int moved = ::fcntl(number, F_DUPFD_CLOEXEC, kFirstNonStdio);
  const int error_number = errno;
  ::close(number);
  errno = error_number;
  return moved;
}

void raise_descriptor_limit() noexcept {
  static const int raised = [] {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    limit.rlim_cur = limit.rlim_max;
    return ::setrlimit(RLIMIT_NOFILE, &limit);
  }();
  static_cast<void>(raised);
}

StandardDescriptorGuard::StandardDescriptorGuard() noexcept {
  for (int number = 0; number < kFirstNonStdio; ++number) {
    int& taken = placeholders_.at(static_cast<std::size_t>(number));
    taken = -1;
    if (::fcntl(number, F_GETFD) >= 0) continue;
    taken = ::open("/dev/null", O_PATH | O_CLOEXEC);
    if (taken < kFirstNonStdio) continue;
    ::close(taken);
    taken = -1;
  }
}

StandardDescriptorGuard::~StandardDescriptorGuard() {
  for (const int number : placeholders_)
    if (number >= 0) ::close(number);
}

Descriptor open_path(const std::string& path, int flags, mode_t mode) noexcept {
  int number = -1;
  int error_number = 0;
  {
    const StandardDescriptorGuard taken;
    number = retry_on_eintr([&] { return ::open(path.c_str(), flags, mode); });
    error_number = errno;
  }
  errno = error_number;
  return Descriptor(number);
}

Descriptor::~Descriptor() {
  if (number_ != kEmpty) ::close(number_);
}

Result<Descriptor> Descriptor::duplicate() const {
  Descriptor copy(::fcntl(number_, F_DUPFD_CLOEXEC, kFirstNonStdio));
  if (!copy) return failure(system_error({.operation = "duplicate a descriptor"}, errno));
  return copy;
}

}  // namespace forebay
