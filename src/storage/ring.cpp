// SPDX-License-Identifier: Apache-2.0
#include "storage/ring.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "base/descriptor.hpp"
#include "storage/ring_backend.hpp"

namespace forebay::storage {

namespace {

constexpr unsigned kProbeEntries = 8;

struct SetupFlags {
  unsigned flags;
  const char* name;
};
constexpr std::array<SetupFlags, 3> kSetupFlags{
    {{IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
      "single issuer, deferred task work"},
     {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL, "cooperative task work"},
     {0, "no flags"}}};

/// Required features: completions are never dropped, and waiting has a timeout.
constexpr unsigned kFeaturesNeeded = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;

}  // namespace

Error ring_error(std::string operation, int error_number, std::string cause) {
  const Error error =
      system_error({.operation = std::move(operation), .cause = std::move(cause)}, error_number);
  return Error({.kind = ErrorClass::kUnsupported,
                .operation = error.operation(),
                .error_number = error_number,
                .cause = error.cause()});
}

std::string ring_error_hint(int error_number) {
  switch (error_number) {
    case ENOSYS:
      return "this kernel has no io_uring";
    case EPERM:
    case EACCES:
      return "io_uring is refused here (sysctl kernel.io_uring_disabled, or seccomp)";
    case ENOMEM:
      return "the memlock limit (ulimit -l) is used up";
    default:
      return "";
  }
}

Status Ring::open(unsigned entries) {
  const StandardDescriptorGuard taken;
  int result = -EINVAL;
  for (const SetupFlags& candidate : kSetupFlags) {
    io_uring_params params{};
    params.flags = candidate.flags;
    result = ::io_uring_queue_init_params(entries, &ring_, &params);
    if (result == 0) {
      flags_name_ = candidate.name;
      break;
    }
    if (result != -EINVAL) break;  // not caused by the flags
  }
  if (result != 0) {
    return failure(ring_error("set up io_uring", -result, ring_error_hint(-result)));
  }
  if ((ring_.features & kFeaturesNeeded) != kFeaturesNeeded) {
    return failure(ring_error("set up io_uring", ENOSYS, "io_uring requires Linux 5.11 or later"));
  }
  return {};
}

Result<std::string> probe_ring() {
  Ring ring;
  if (const Status opened = ring.open(kProbeEntries); !opened) {
    return failure(opened.error());
  }
  io_uring_sqe* const entry = ::io_uring_get_sqe(&ring.get());
  FOREBAY_ASSERT(entry != nullptr);
  ::io_uring_prep_nop(entry);
  const int result = ::io_uring_submit_and_wait(&ring.get(), 1);
  if (result < 0) return failure(ring_error("use io_uring", -result, ""));
  return ring.flags_name();
}

}  // namespace forebay::storage
