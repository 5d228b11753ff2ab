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

RoundValue scaling(Kernel kernel) {
  return ratio_of(name_of(kernel, RankSet::kAll), name_of(kernel, RankSet::kActive));
}

}  // namespace

Status bench_scaling(Context& context) {
  const FilePartition partition = large_partition(context);
  return context.compare({.rows = {{"read.ranks.scaling", scaling(Kernel::kSession), Goal{1.2}}},
                          .rounds = 9,
                          .variants = {variant(Kernel::kSession, RankSet::kAll, partition),
                                       variant(Kernel::kSession, RankSet::kActive, partition),
                                       variant(Kernel::kNaive, RankSet::kAll, partition),
                                       variant(Kernel::kNaive, RankSet::kActive, partition)},
                          .more_peers = {{"naive", "1", scaling(Kernel::kNaive)}}});
}

}  // namespace forebay::bench::read
