// SPDX-License-Identifier: Apache-2.0
// read.ranks.scaling: the cost of more ranks than cores. All ranks of the job read the file that
// otherwise only the active ranks read. The total number of tasks is the same, and both run in
// pairs within one run.
#include "bench/read/rank_harness_instance.hpp"
#include "bench/read/rows.hpp"

namespace forebay::bench::read {

namespace {

std::string name_of(Kernel kernel, RankSet rank_set) {
  const std::string name = kernel == Kernel::kSession ? "forebay" : "naive";
  return name + ", " + std::to_string(rank_harness().ranks(rank_set).size()) + " ranks";
}

Variant variant(Kernel kernel, RankSet rank_set, const FilePartition& partition) {
  Job job = Job::make(kernel, partition);
  job.rank_set = rank_set;
  return job_variant(name_of(kernel, rank_set), job, warm(partition.path));
}

Evaluate scaling(Kernel kernel) {
  return ratio_of(name_of(kernel, RankSet::kAll), name_of(kernel, RankSet::kActive));
}

}  // namespace

Status bench_scaling(Context& context) {
  const std::string id = "read.ranks.scaling";
  if (!context.is_selected(id)) return {};
  if (rank_harness().ranks(RankSet::kAll).size() == rank_harness().ranks().size()) {
    context.skip(id, "all ranks of the job are active");
    return {};
  }
  const auto partition = large_partition(context);
  if (!partition) return failure(partition.error());
  return measure_row(context,
                     {.id = id,
                      .rounds = 9,
                      .value = scaling(Kernel::kSession),
                      .goal = {1.2},
                      .more_peers = {{"naive", "1", scaling(Kernel::kNaive)}}},
                     {variant(Kernel::kSession, RankSet::kAll, *partition),
                      variant(Kernel::kSession, RankSet::kActive, *partition),
                      variant(Kernel::kNaive, RankSet::kAll, *partition),
                      variant(Kernel::kNaive, RankSet::kActive, *partition)});
}

}  // namespace forebay::bench::read
