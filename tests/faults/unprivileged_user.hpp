// SPDX-License-Identifier: Apache-2.0
// The user without rights as which tests of limits and permissions run. For tests only.
#pragma once

#include <unistd.h>

namespace forebay {

/// Has no rights on most systems; also used as a group.
inline constexpr uid_t kUnprivilegedUser = 65534;

/// Gives up root if this process has it. Changes this process permanently. False on failure.
inline bool drop_root() { return ::geteuid() != 0 || ::setuid(kUnprivilegedUser) == 0; }

}  // namespace forebay
