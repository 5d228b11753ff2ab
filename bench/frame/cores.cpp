// SPDX-License-Identifier: Apache-2.0
#include "bench/frame/cores.hpp"

#include <cerrno>
#include <string>

namespace forebay::bench {

namespace {

cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails where there are more cores than the set has room for: then none are known.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

}  // namespace

std::vector<unsigned> usable_cores() {
  const cpu_set_t set = allowed();
  std::vector<unsigned> cores;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

Result<std::unique_ptr<OnCore>> OnCore::take(unsigned core) {
  const cpu_set_t before = allowed();
  cpu_set_t one;
  CPU_ZERO(&one);
  if (core < CPU_SETSIZE) CPU_SET(core, &one);
  if (::sched_setaffinity(0, sizeof one, &one) == 0)
    return std::unique_ptr<OnCore>(new OnCore(before));
  return failure(system_error({.operation = "stay on core " + std::to_string(core)}, errno));
}

OnCore::~OnCore() { static_cast<void>(::sched_setaffinity(0, sizeof before_, &before_)); }

}  // namespace forebay::bench
