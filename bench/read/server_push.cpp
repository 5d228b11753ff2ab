// SPDX-License-Identifier: Apache-2.0
// Rows of `bench foresight` on two hosts. foresight.server_push: clients on one read wide strides
// that are interleaved, through the agent of the other, which has the storage, or themselves.
// foresight.preexec.agent: one client reads a chain, which the agent of its node pre-executes.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/read/rank_harness_instance.hpp"

namespace forebay::bench::read {

namespace {

constexpr unsigned kRounds = 5;
constexpr std::uint64_t kStrideBytes = 96_KiB;
constexpr std::uint64_t kChainFileBytes = 64_MiB;

struct Row {
  const char* id;
  const char* over;
  const char* under;
  Goal goal;
};

constexpr std::array kPushRows = {
    Row{"foresight.server_push", "today", "forebay", {8, Better::kHigher}},
    Row{"foresight.server_push.ended", "forebay, agent ends", "today", {1.05}},
};
constexpr std::array kChainRows = {
    Row{"foresight.preexec.agent", "forebay", "today", {0.05}},
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

/// `kernels` by the names that the rows use, on a file of `file_bytes`.
using Kernels = std::vector<std::pair<const char*, Kernel>>;

Status bench_rows(Context& context,
                  std::span<const Row> rows,
                  const Kernels& kernels,
                  std::uint64_t file_bytes,
                  std::uint64_t reads) {
  std::vector<Row> wanted;
  for (const Row& row : rows) {
    if (context.is_selected(row.id)) wanted.push_back(row);
  }
  const std::string why = skip_reason();
  if (!why.empty() || wanted.empty()) {
    for (const Row& row : wanted)
      context.skip(row.id, why);
    return {};
  }
  const auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  const FilePartition partition{.path = *path, .file_bytes = file_bytes, .task_count = reads};
  std::vector<Variant> variants;
  for (const auto& [name, kernel] : kernels)
    variants.push_back(variant(name, kernel, partition));
  const auto rounds = context.run(rows.front().id, kRounds, variants);
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

}  // namespace

FOREBAY_BENCHMARK(server_push,
                  "the rows of foresight that need two hosts; `forebay bench foresight` runs it") {
  const std::uint64_t reads = context.choose<std::uint64_t>(200, 50);
  const auto pushed = bench_rows(context, kPushRows,
                                 {{"today", Kernel::kPushPlain},
                                  {"forebay", Kernel::kPushSession},
                                  {"forebay, agent ends", Kernel::kPushAgentEnds}},
                                 reads * kStrideBytes, reads);
  if (!pushed) return pushed;
  return bench_rows(context, kChainRows,
                    {{"forebay", Kernel::kChainSession}, {"today", Kernel::kChainPlain}},
                    kChainFileBytes, context.choose<std::uint64_t>(120, 30));
}

}  // namespace forebay::bench::read
