// SPDX-License-Identifier: Apache-2.0
#include "runtime/cores.hpp"

#include <cstring>
#include <map>
#include <set>

namespace forebay {

namespace {

/// FNV-1a over the numbers.
constexpr std::uint64_t kHashBasis = 0xcbf29ce484222325;
constexpr std::uint64_t kHashPrime = 0x100000001b3;

const std::vector<Processor>& this_machine() {
  static const std::vector<Processor> processors = processors_of_machine();
  return processors;
}

}  // namespace

CoreShare core_share(const std::vector<Processor>& machine, const std::vector<int>& allowed) {
  const std::set<int> mine(allowed.begin(), allowed.end());
  std::set<int> cores;
  for (const Processor& processor : machine)
    if (mine.contains(processor.number)) cores.insert(processor.core);
  CoreShare share{.name = kHashBasis, .cores = static_cast<std::uint32_t>(cores.size())};
  for (const int core : cores)
    share.name = (share.name ^ static_cast<std::uint64_t>(core)) * kHashPrime;
  return share;
}

std::uint32_t cores_together(std::span<const CoreShare> shares) {
  std::map<std::uint64_t, std::uint32_t> cores_of;
  for (const CoreShare& share : shares) {
    if (share.cores == 0) return 0;
    cores_of[share.name] = share.cores;
  }
  std::uint32_t cores = 0;
  for (const auto& [name, count] : cores_of)
    cores += count;
  return cores;
}

Result<std::uint32_t> cores_of_first_node(comm::Communicator& ranks) {
  const CoreShare mine = core_share(this_machine(), processors_at_start());
  const comm::Rank first{0};
  const auto all = ranks.gather(std::as_bytes(std::span(&mine, 1)), first);
  if (!all) return failure(all.error());
  if (ranks.rank() != first) return 0;
  std::vector<CoreShare> shares;
  for (const comm::Rank rank : ranks.nodes().ranks_of(ranks.nodes().node_of(first)))
    std::memcpy(&shares.emplace_back(), all->at(rank.number).data(), sizeof(CoreShare));
  return cores_together(shares);
}

}  // namespace forebay
