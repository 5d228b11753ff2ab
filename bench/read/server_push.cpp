// SPDX-License-Identifier: Apache-2.0
// foresight.server_push, rows of `bench foresight` on two hosts: clients on one read wide strides
// that are interleaved, through the agent of the other, which has the storage, or themselves.
#include <algorithm>
#include <array>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/read/rank_harness_instance.hpp"

namespace forebay::bench::read {

namespace {

constexpr unsigned kRounds = 5;
constexpr std::uint64_t kStrideBytes = 96_KiB;

struct Row {
  const char* id;
  const char* over;
  const char* under;
  Goal goal;
};

constexpr std::array kRows = {
    Row{"foresight.server_push", "today", "forebay", {8, Better::kHigher}},
    Row{"foresight.server_push.ended", "forebay, agent ends", "today", {1.05}},
};

Variant variant(const char* name, Kernel kernel, const FilePartition& partition) {
  return {name, {}, [kernel, partition]() -> Result<double> {
            const auto measured = rank_harness().measure(Job::make(kernel, partition));
            if (!measured) return failure(measured.error());
            return std::ranges::max(measured->rank_results);
          }};
}

std::string skip_reason() {
  if (rank_harness().ranks().nodes().count() != 2) return "ranks on two hosts are required";
  return emufs::mount_unavailable_reason();
}

}  // namespace

FOREBAY_BENCHMARK(server_push,
                  "the rows of foresight that need two hosts; `forebay bench foresight` runs it") {
  std::vector<Row> wanted;
  for (const Row& row : kRows) {
    if (context.is_selected(row.id)) wanted.push_back(row);
  }
  const std::string why = skip_reason();
  if (!why.empty() || wanted.empty()) {
    for (const Row& row : wanted)
      context.skip(row.id, why);
    return {};
  }
  const std::uint64_t reads = context.choose<std::uint64_t>(200, 50);
  const std::uint64_t file_bytes = reads * kStrideBytes;
  const auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  const FilePartition partition{.path = *path, .file_bytes = file_bytes, .task_count = reads};
  const auto rounds =
      context.run("foresight.server_push", kRounds,
                  {variant("today", Kernel::kPushPlain, partition),
                   variant("forebay", Kernel::kPushSession, partition),
                   variant("forebay, agent ends", Kernel::kPushAgentEnds, partition)});
  if (!rounds) return failure(rounds.error());
  for (const Row& row : wanted) {
    context.add({row.id,
                 "1",
                 rounds->ratio(row.over, row.under),
                 row.goal,
                 {{row.over, "s", rounds->summary(row.over)},
                  {row.under, "s", rounds->summary(row.under)}}});
  }
  return {};
}

}  // namespace forebay::bench::read
