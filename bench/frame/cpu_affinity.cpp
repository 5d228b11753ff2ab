// SPDX-License-Identifier: Apache-2.0
#include "bench/frame/cpu_affinity.hpp"

#include <cerrno>
#include <string>

namespace forebay::bench {

namespace {

cpu_set_t affinity_mask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails if there are more cores than the set can hold: then none are known.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

}  // namespace

std::vector<unsigned> usable_cores() {
  const cpu_set_t set = affinity_mask();
  std::vector<unsigned> cores;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

Result<std::unique_ptr<ScopedAffinity>> ScopedAffinity::pin(unsigned core) {
  const cpu_set_t before = affinity_mask();
  cpu_set_t one;
  CPU_ZERO(&one);
  if (core < CPU_SETSIZE) CPU_SET(core, &one);
  if (::sched_setaffinity(0, sizeof one, &one) == 0)
    return std::unique_ptr<ScopedAffinity>(new ScopedAffinity(before));
  return failure(system_error({.operation = "pin to core " + std::to_string(core)}, errno));
}

ScopedAffinity::~ScopedAffinity() {
  static_cast<void>(::sched_setaffinity(0, sizeof saved_mask_, &saved_mask_));
}

}  // namespace forebay::bench
