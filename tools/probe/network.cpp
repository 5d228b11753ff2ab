// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/network.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace forebay::probe {

std::uint64_t host_received_bytes() {
  std::ifstream table("/proc/self/net/dev");
  std::uint64_t total = 0;
  for (std::string line; std::getline(table, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.find(" lo:") != std::string::npos) continue;
    std::istringstream counters(line.substr(colon + 1));
    std::uint64_t received = 0;
    counters >> received;
    total += received;
  }
  return total;
}

std::optional<double> link_mbyte_per_second() {
  const char* const text = std::getenv("FOREBAY_HOSTS_RATE_MBYTE");
  const double rate = text == nullptr ? 0 : std::strtod(text, nullptr);
  return rate > 0 ? std::optional(rate) : std::nullopt;
}

}  // namespace forebay::probe
