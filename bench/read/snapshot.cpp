// SPDX-License-Identifier: Apache-2.0
#include "bench/read/snapshot.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include "bench/read/rank_harness_instance.hpp"
#include "tipsy/generate.hpp"

namespace forebay::bench::read {

FilePartition make_snapshot(Context& context, const SnapshotSize& size) {
  tipsy::GenerateOptions options{.path = (context.directory() / "dark.tipsy").string(),
                                 .layout = {.counts = {.dark = size.particles}},
                                 .threads = std::max(1U, std::thread::hardware_concurrency())};
  const std::uint64_t file_bytes = options.layout.end_offset();
  check(context.require_space(file_bytes));
  context.report({0, file_bytes, "bytes", "writing a snapshot"});
  check(tipsy::generate(options));
  context.report({file_bytes, file_bytes, "bytes", "writing a snapshot"});
  return {.path = options.path, .file_bytes = file_bytes, .task_count = size.tasks};
}

Status bench_over_changa(Context& context, const SnapshotRow& row, const FilePartition& partition) {
  std::vector<double> first;
  const auto variant = [&](const char* name, Kernel kernel) {
    return Variant{name, row.prepare, [&, kernel]() -> Result<double> {
                     const auto measured =
                         rank_harness().measure(Job::make(kernel, partition)).value();
                     if (first.empty()) first = measured.rank_results;
                     if (first == measured.rank_results) return measured.seconds;
                     return failure({.kind = ErrorClass::kDamage,
                                     .operation = "compare the sums over all particles",
                                     .cause = "two readers of one snapshot have different sums"});
                   }};
  };
  return context.compare({.rows = {{row.id, ratio_of("forebay", "ChaNGa's scheme"), row.goal}},
                          .rounds = row.rounds,
                          .variants = {variant("forebay", Kernel::kTipsySession),
                                       variant("ChaNGa's scheme", Kernel::kTipsyChanga)}});
}

}  // namespace forebay::bench::read
