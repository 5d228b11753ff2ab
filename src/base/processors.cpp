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

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

/// The whole machine, with what this process may not use.
Topology load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

int number_of(hwloc_obj_t object, int otherwise) {
  return object == nullptr ? otherwise : static_cast<int>(object->logical_index);
}

// As early as can be: a program that binds its threads has not begun.
const std::vector<int> kAtStart = processors_of_this_thread();

/// Where service threads run; empty: not said.
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
ServiceProcessors& service() {
  static ServiceProcessors processors;
  return processors;
}

using Test = bool (*)(const Processor& one, const Processor& other);
bool share_core(const Processor& one, const Processor& other) { return one.core == other.core; }
bool share_node(const Processor& one, const Processor& other) { return one.node == other.node; }

bool any_of_them(const std::vector<Processor>& them, const Processor& one, Test shares) {
  return std::ranges::any_of(them, [&](const Processor& other) { return shares(one, other); });
}

std::vector<Processor> those_of(const std::vector<Processor>& machine,
                                const std::vector<int>& numbers) {
  std::vector<Processor> found;
  std::ranges::copy_if(machine, std::back_inserter(found), [&](const Processor& processor) {
    return std::ranges::binary_search(numbers, processor.number);
  });
  return found;
}

/// Leaves those of `candidates` that pass; all if none does.
template <class Predicate>
void prefer(std::vector<Processor>& candidates, Predicate passes) {
  std::vector<Processor> better;
  std::ranges::copy_if(candidates, std::back_inserter(better), passes);
  if (!better.empty()) candidates = std::move(better);
}

}  // namespace

std::vector<Processor> processors_of_machine() {
  const Topology topology = load();
  if (!topology) return {};
  std::vector<Processor> found;
  hwloc_obj_t unit = nullptr;
  while ((unit = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, unit)) != nullptr) {
    const auto number = static_cast<int>(unit->os_index);
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_CORE, unit);
    const int node = unit->nodeset == nullptr ? 0 : hwloc_bitmap_first(unit->nodeset);
    found.push_back({.number = number, .core = number_of(core, number), .node = node});
  }
  std::ranges::sort(found, {}, &Processor::number);
  return found;
}

std::vector<int> processors_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (::pthread_getaffinity_np(::pthread_self(), sizeof set, &set) != 0) return found;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) found.push_back(static_cast<int>(i));
  }
  return found;
}

const std::vector<int>& processors_at_start() { return kAtStart; }

std::vector<int> processors_apart(const std::vector<Processor>& machine,
                                  const std::vector<int>& allowed,
                                  const std::vector<int>& bound) {
  std::vector<int> others;
  std::ranges::set_difference(allowed, bound, std::back_inserter(others));
  const std::vector<Processor> taken = those_of(machine, bound);
  std::vector<Processor> candidates = those_of(machine, others);
  prefer(candidates, [&](const Processor& one) { return !any_of_them(taken, one, share_core); });
  prefer(candidates, [&](const Processor& one) { return any_of_them(taken, one, share_node); });
  std::vector<int> numbers;
  std::ranges::transform(candidates, std::back_inserter(numbers), &Processor::number);
  return numbers;
}

bool set_service_processors(const std::vector<int>& processors) {
  const std::vector<int> before = processors_of_this_thread();
  run_this_thread_on(processors);
  const std::vector<int> there = processors_of_this_thread();
  run_this_thread_on(before);
  const bool is_possible = std::ranges::includes(processors, there);
  if (processors.empty() || is_possible) service().set(processors);
  return processors.empty() || is_possible;
}

std::vector<int> service_processors() { return service().get(); }

void run_this_thread_on(const std::vector<int>& processors) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int number : processors) {
    if (number >= 0 && number < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(number), &set);
  }
  if (CPU_COUNT(&set) > 0) ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

}  // namespace forebay
