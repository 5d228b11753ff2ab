// SPDX-License-Identifier: Apache-2.0
#include "runtime/cores.hpp"

#include <cstring>
#include <map>
#include <set>

#include "base/fnv.hpp"

namespace forebay {

namespace {

const std::vector<Processor>& this_machine() {
  static const std::vector<Processor> processors = machine_processors();
  return processors;
}

}  // namespace

CoreSet core_set_of(const std::vector<Processor>& machine, const std::vector<int>& allowed) {
  const std::set<int> mine(allowed.begin(), allowed.end());
  std::set<int> cores;
  for (const Processor& processor : machine)
    if (mine.contains(processor.number)) cores.insert(processor.core);
  CoreSet core_set{.hash = kFnv1aBasis, .cores = static_cast<std::uint32_t>(cores.size())};
  for (const int core : cores)
    core_set.hash = fnv1a(core_set.hash, static_cast<std::uint64_t>(core));
  return core_set;
}

std::uint32_t total_cores(std::span<const CoreSet> core_sets) {
  std::map<std::uint64_t, std::uint32_t> cores_of;
  for (const CoreSet& core_set : core_sets) {
    if (core_set.cores == 0) return 0;
    cores_of[core_set.hash] = core_set.cores;
  }
  std::uint32_t cores = 0;
  for (const auto& [name, count] : cores_of)
    cores += count;
  return cores;
}

Result<std::vector<std::uint32_t>> count_node_cores(comm::Communicator& ranks) {
  const CoreSet mine = core_set_of(this_machine(), initial_affinity());
  const comm::Rank first{0};
  const auto gathered = ranks.gather(std::as_bytes(std::span(&mine, 1)), first);
  if (!gathered) return failure(gathered.error());
  std::vector<std::uint32_t> cores_of_node;
  if (ranks.rank() != first) return cores_of_node;
  for (std::uint32_t node = 0; node < ranks.nodes().count(); ++node) {
    std::vector<CoreSet> core_sets;
    for (const comm::Rank rank : ranks.nodes().ranks_of({node}))
      std::memcpy(&core_sets.emplace_back(), gathered->at(rank.number).data(), sizeof(CoreSet));
    cores_of_node.push_back(total_cores(core_sets));
  }
  return cores_of_node;
}

}  // namespace forebay
