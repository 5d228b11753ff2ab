// SPDX-License-Identifier: Apache-2.0
#include "base/processors.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>

namespace forebay {

namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

/// The whole machine, including processors that this process may not use.
Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

int logical_index_of(hwloc_obj_t object, int otherwise) {
  return object == nullptr ? otherwise : static_cast<int>(object->logical_index);
}

// As early as possible: before the program binds its threads.
const std::vector<int> kInitialAffinity = thread_affinity();

/// Processors of service threads. Empty: not set.
class ServiceProcessors {
 public:
  void set(const std::vector<int>& processors) {
    const std::lock_guard lock(mutex_);
    processors_ = processors;
  }
  std::vector<int> get() const {
    const std::lock_guard lock(mutex_);
    return processors_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<int> processors_;
};
ServiceProcessors& service_setting() {
  static ServiceProcessors processors;
  return processors;
}

using SharesFunction = bool (*)(const Processor& one, const Processor& other);
bool share_core(const Processor& one, const Processor& other) { return one.core == other.core; }
bool share_node(const Processor& one, const Processor& other) { return one.node == other.node; }

bool shares_with_any(const std::vector<Processor>& processors,
                     const Processor& one,
                     SharesFunction shares) {
  return std::ranges::any_of(processors,
                             [&](const Processor& other) { return shares(one, other); });
}

std::vector<Processor> select_processors(const std::vector<Processor>& machine,
                                         const std::vector<int>& numbers) {
  std::vector<Processor> found;
  std::ranges::copy_if(machine, std::back_inserter(found), [&](const Processor& processor) {
    return std::ranges::binary_search(numbers, processor.number);
  });
  return found;
}

/// Keeps the candidates that satisfy the predicate; all of them if none does.
template <class Predicate>
void keep_preferred(std::vector<Processor>& candidates, Predicate passes) {
  std::vector<Processor> better;
  std::ranges::copy_if(candidates, std::back_inserter(better), passes);
  if (!better.empty()) candidates = std::move(better);
}

}  // namespace

std::vector<Processor> machine_processors() {
  const Topology topology = load_topology();
  if (!topology) return {};
  std::vector<Processor> found;
  hwloc_obj_t unit = nullptr;
  while ((unit = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, unit)) != nullptr) {
    const auto number = static_cast<int>(unit->os_index);
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_CORE, unit);
    const int node = unit->nodeset == nullptr ? 0 : hwloc_bitmap_first(unit->nodeset);
    found.push_back({.number = number, .core = logical_index_of(core, number), .node = node});
  }
  std::ranges::sort(found, {}, &Processor::number);
  return found;
}

std::vector<int> thread_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (::pthread_getaffinity_np(::pthread_self(), sizeof set, &set) != 0) return found;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) found.push_back(static_cast<int>(i));
  }
  return found;
}

const std::vector<int>& initial_affinity() { return kInitialAffinity; }

std::vector<int> spare_processors(const std::vector<Processor>& machine,
                                  const std::vector<int>& allowed,
                                  const std::vector<int>& bound) {
  std::vector<int> others;
  std::ranges::set_difference(allowed, bound, std::back_inserter(others));
  const std::vector<Processor> taken = select_processors(machine, bound);
  std::vector<Processor> candidates = select_processors(machine, others);
  keep_preferred(candidates,
                 [&](const Processor& one) { return !shares_with_any(taken, one, share_core); });
  keep_preferred(candidates,
                 [&](const Processor& one) { return shares_with_any(taken, one, share_node); });
  std::vector<int> numbers;
  std::ranges::transform(candidates, std::back_inserter(numbers), &Processor::number);
  return numbers;
}

bool set_service_processors(const std::vector<int>& processors) {
  const std::vector<int> before = thread_affinity();
  set_thread_affinity(processors);
  const std::vector<int> applied = thread_affinity();
  set_thread_affinity(before);
  const bool is_possible = std::ranges::includes(processors, applied);
  if (processors.empty() || is_possible) service_setting().set(processors);
  return processors.empty() || is_possible;
}

std::vector<int> service_processors() { return service_setting().get(); }

void set_thread_affinity(const std::vector<int>& processors) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int number : processors) {
    if (number >= 0 && number < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(number), &set);
  }
  if (CPU_COUNT(&set) > 0) ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

}  // namespace forebay
