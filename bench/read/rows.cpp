// SPDX-License-Identifier: Apache-2.0
#include "bench/read/rows.hpp"

#include <utility>

#include "bench/read/rank_harness_instance.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

Result<FilePartition> large_partition(Context& context) {
  const std::uint64_t file_bytes =
      context.choose<std::uint64_t>({.quick = 128_MiB, .usual = 1_GiB, .full = 4_GiB});
  auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  return FilePartition{
      .path = *path, .file_bytes = file_bytes, .task_count = context.choose(kTasks, kTasks / 8)};
}

Prepare warm(const std::filesystem::path& path) {
  return [path] { return probe::warm(path); };
}

Prepare cold(const std::filesystem::path& path) {
  return [path] { return probe::drop_cached(path); };
}

Variant job_variant(std::string name, const Job& job, Prepare prepare) {
  return {std::move(name), std::move(prepare), [job] { return rank_harness().time(job); }};
}

Evaluate ratio_of(std::string over, std::string under) {
  return [over = std::move(over), under = std::move(under)](const Rounds& rounds) {
    return rounds.ratio(over, under);
  };
}

Status measure_row(Context& context, const RoundsRow& row, const std::vector<Variant>& variants) {
  const auto rounds = context.run(row.id, row.rounds, variants);
  if (!rounds) return failure(rounds.error());
  std::vector<Peer> peers;
  for (const RoundsPeer& one : row.more_peers)
    peers.push_back({one.name, one.unit, one.value(*rounds)});
  for (const Variant& one : variants)
    peers.push_back({one.name, "s", rounds->summary(one.name)});
  context.add({row.id, "1", row.value(*rounds), row.goal, std::move(peers)});
  return {};
}

}  // namespace forebay::bench::read
