// SPDX-License-Identifier: Apache-2.0
// pfs.over_limit: a file read by few and by many tasks through a session, compared with the limit
// of the storage in the machine file. Every byte is verified.
#include <algorithm>
#include <utility>
#include <vector>

#include "bench/pfs/mounted_file.hpp"

namespace forebay::bench::pfs {

namespace {

/// The time of the worst number of tasks of each round / the limit of the storage.
Summary over_limit(const Rounds& rounds, const std::vector<std::string>& names, double limit_s) {
  std::vector<double> worst;
  for (std::size_t round = 0; round < rounds.values(names.front()).size(); ++round) {
    double slowest = 0;
    for (const std::string& name : names)
      slowest = std::max(slowest, rounds.values(name)[round]);
    worst.push_back(slowest / limit_s);
  }
  return summarize(worst);
}

}  // namespace

Status bench_limit(Context& context) {
  const std::string id = "pfs.over_limit";
  if (!context.is_selected(id)) return {};
  const auto mounted_file =
      MountedFile::with_word_file(context, {.machine = "lustre-small", .arguments = {}});
  if (!mounted_file) return failure(mounted_file.error());
  std::vector<Variant> variants;
  std::vector<std::string> names;
  for (const std::uint64_t tasks : read::kTaskCounts) {
    names.push_back(std::to_string(tasks) + " tasks");
    variants.push_back((*mounted_file)->variant(names.back(), read::Kernel::kSession, tasks));
  }
  const auto rounds = context.run(id, kRounds, variants);
  if (!rounds) return failure(rounds.error());
  std::vector<Peer> peers;
  for (const std::string& name : names)
    peers.push_back({name, "s", rounds->summary(name)});
  context.add(
      {id, "1",
       over_limit(*rounds, names, (*mounted_file)->lower_bound_s((*mounted_file)->file_bytes())),
       Goal{1.03}, std::move(peers)});
  return {};
}

}  // namespace forebay::bench::pfs
