// SPDX-License-Identifier: Apache-2.0
// read.memory_mib: memory of sessions on a node. The proportional set sizes of all ranks of a node
// are summed while they read a file. The file is not in the page cache, where windows are largest.
// The result is the peak of that sum, minus the peak of the same tasks that read through one buffer
// a rank. Each run begins without a Runtime and without memory of earlier ones.
#include "bench/frame/peak_memory.hpp"
#include "bench/read/rank_harness_instance.hpp"
#include "bench/read/rows.hpp"

namespace forebay::bench::read {

namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

/// The peak of the node's ranks together during a job, in MiB.
Result<double> peak_of(Kernel kernel, const FilePartition& partition) {
  // Memory of other ranks' earlier jobs must not be in the first sample.
  if (auto released = rank_harness().time(Job::make(Kernel::kRelease, partition)); !released)
    return released;
  const auto peak = PeakMemory::start(rank_harness().processes_of_node());
  if (!peak) return failure(peak.error());
  return rank_harness().time(Job::make(kernel, partition)).map([&](double) {
    return static_cast<double>((*peak)->stop()) / kMebibyte;
  });
}

}  // namespace

Status bench_memory(Context& context) {
  const FilePartition partition = large_partition(context);
  return context.compare(
      {.rows = {{"read.memory_mib", difference_of("forebay", "plain"), Goal{96}, "MiB"}},
       .variants = {{"forebay", cold(partition.path),
                     [&] { return peak_of(Kernel::kBareSession, partition); }},
                    {"forebay, page cache", warm(partition.path),
                     [&] { return peak_of(Kernel::kBareSession, partition); }},
                    {"plain", cold(partition.path),
                     [&] { return peak_of(Kernel::kBareNaive, partition); }}},
       .peers = std::vector<std::string>{},
       .more_peers = {
           {"the same from the page cache", "MiB", difference_of("forebay, page cache", "plain")},
           {"all ranks", "MiB", value_of("forebay")},
           {"all ranks without sessions", "MiB", value_of("plain")}}});
}

}  // namespace forebay::bench::read
