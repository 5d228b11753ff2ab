// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/resident.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint64_t kKibibyte = 1024;

std::uint64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t value = 0;
    if (word == key && status >> value) return value * kKibibyte;
  }
  return 0;
}

}  // namespace

ResidentPeak::ResidentPeak() {
  std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak to what is resident now
  before_bytes_ = status_bytes("VmRSS:");
}

std::uint64_t ResidentPeak::growth_bytes() const {
  const std::uint64_t peak = status_bytes("VmHWM:");
  return peak - std::min(peak, before_bytes_);
}

}  // namespace forebay::bench::checkpoint
