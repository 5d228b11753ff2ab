// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace forebay {

Descriptor::~Descriptor() {
  if (number_ != kEmpty) ::close(number_);
}

Result<Descriptor> Descriptor::duplicate() const {
  Descriptor copy(::fcntl(number_, F_DUPFD_CLOEXEC, 0));
  if (!copy) return failure(system_error({.operation = "duplicate a descriptor"}, errno));
  return copy;
}

}  // namespace forebay
