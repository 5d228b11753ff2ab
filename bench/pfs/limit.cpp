// SPDX-License-Identifier: Apache-2.0
// pfs.over_limit: a file read by few and by many tasks through a session, beside what the machine
// file says its storage can give. Every byte is checked.
#include <algorithm>
#include <utility>
#include <vector>

#include "bench/pfs/site.hpp"

namespace forebay::bench::pfs {

namespace {

/// The worst number of tasks of each round, over what the storage could do.
Summary over_limit(const Rounds& rounds, const std::vector<std::string>& names, double limit_s) {
  std::vector<double> worst;
  for (std::size_t round = 0; round < rounds.values(names.front()).size(); ++round) {
    double slowest = 0;
    for (const std::string& name : names)
      slowest = std::max(slowest, rounds.values(name)[round]);
    worst.push_back(slowest / limit_s);
  }
  return summarise(worst);
}

}  // namespace

Status bench_limit(Context& context) {
  const std::string id = "pfs.over_limit";
  if (!context.wants(id)) return {};
  const auto site = Site::with_words(context, {.machine = "lustre-small", .words = {}});
  if (!site) return failure(site.error());
  std::vector<Variant> variants;
  std::vector<std::string> names;
  for (const std::uint64_t tasks : read::kTaskCounts) {
    names.push_back(std::to_string(tasks) + " tasks");
    variants.push_back((*site)->variant(names.back(), read::Work::kSession, tasks));
  }
  const auto rounds = context.run(id, kRounds, variants);
  if (!rounds) return failure(rounds.error());
  std::vector<Peer> peers;
  for (const std::string& name : names)
    peers.push_back({name, "s", rounds->summary(name)});
  context.add({id, "1", over_limit(*rounds, names, (*site)->limit_s((*site)->file_bytes())),
               Goal{1.03}, std::move(peers)});
  return {};
}

}  // namespace forebay::bench::pfs
