// SPDX-License-Identifier: Apache-2.0
#include "shm/doorbell.hpp"

#include <array>
#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "shm/readiness.hpp"

namespace forebay::shm {

Result<Doorbell> Doorbell::create() {
  Descriptor descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!descriptor) return failure(system_error({.operation = "create a doorbell"}, errno));
  return Doorbell(std::move(descriptor));
}

Result<Doorbell> Doorbell::from(Descriptor descriptor) {
  const int flags = ::fcntl(descriptor.get(), F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) == 0) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "attach a doorbell",
                    .error_number = flags < 0 ? errno : 0,
                    .cause = "the descriptor is not a doorbell: ringing it could block"});
  }
  return Doorbell(std::move(descriptor));
}

void Doorbell::ring() const noexcept {
  constexpr std::uint64_t kOnce = 1;
  // EAGAIN: rung 2^64 - 2 times without clear(); it is readable anyway.
  const auto written = ::write(descriptor_.get(), &kOnce, sizeof kOnce);
  if (written < 0) FOREBAY_ASSERT(errno != EBADF);
}

void Doorbell::clear() const noexcept {
  std::uint64_t rings = 0;
  static_cast<void>(::read(descriptor_.get(), &rings, sizeof rings));  // EAGAIN: not rung
}

bool Doorbell::wait(Deadline deadline) const noexcept {
  const std::array<int, 1> descriptors{descriptor_.get()};
  return wait_readable(descriptors, deadline).has_value();
}

}  // namespace forebay::shm
