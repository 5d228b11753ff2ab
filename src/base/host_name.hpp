// SPDX-License-Identifier: Apache-2.0
// host_name(): the name of this host, by which leases, traces and profiles identify it.
#pragma once

#include <array>
#include <string>

#include <unistd.h>

namespace forebay {

/// Never empty.
inline std::string host_name() {
  std::array<char, 256> name{};
  const bool is_known = ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != 0;
  return is_known ? name.data() : "a host without a name";
}

}  // namespace forebay
