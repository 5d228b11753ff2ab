// SPDX-License-Identifier: Apache-2.0
// Rows of `bench foresight` on two hosts. foresight.server_push: clients on one read wide strides
// that are interleaved, through the agent of the other, which has the storage, or themselves.
// foresight.preexec.agent: one client reads a chain, which the agent of its node pre-executes.
#include <algorithm>
#include <string>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/read/rank_harness_instance.hpp"

namespace forebay::bench::read {

namespace {

constexpr std::uint64_t kStrideBytes = 96_KiB;
constexpr std::uint64_t kChainFileBytes = 64_MiB;

Variant variant(const char* name, Kernel kernel, const FilePartition& partition) {
  return {name, {}, [kernel, partition]() -> Result<double> {
            const auto measured = rank_harness().measure(Job::make(kernel, partition)).value();
            return std::ranges::max(measured.rank_results);
          }};
}

std::string unavailable_reason() {
  if (rank_harness().ranks().nodes().count() != 2) return "ranks on two hosts are required";
  return emufs::mount_unavailable_reason();
}

Status bench_push(Context& context) {
  const std::uint64_t reads = context.choose<std::uint64_t>(200, 50);
  const std::uint64_t file_bytes = reads * kStrideBytes;
  const FilePartition partition{context.word_file(file_bytes).value(), file_bytes, reads};
  return context.compare(
      {.rows = {{"foresight.server_push", ratio_of("today", "forebay"), Goal{8, Better::kHigher}},
                {"foresight.server_push.ended", ratio_of("forebay, agent ends", "today"),
                 Goal{1.05}}},
       .variants = {variant("today", Kernel::kPushPlain, partition),
                    variant("forebay", Kernel::kPushSession, partition),
                    variant("forebay, agent ends", Kernel::kPushAgentEnds, partition)}});
}

Status bench_chain(Context& context) {
  const FilePartition partition{context.word_file(kChainFileBytes).value(), kChainFileBytes,
                                context.choose<std::uint64_t>(120, 30)};
  return context.compare(
      {.rows = {{"foresight.preexec.agent", ratio_of("forebay", "today"), Goal{0.05}}},
       .variants = {variant("forebay", Kernel::kChainSession, partition),
                    variant("today", Kernel::kChainPlain, partition)}});
}

}  // namespace

FOREBAY_BENCHMARK(server_push,
                  "the rows of foresight that need two hosts; `forebay bench foresight` runs it") {
  return run_each(
      context,
      {{{"foresight.server_push", "foresight.server_push.ended"}, bench_push, unavailable_reason},
       {{"foresight.preexec.agent"}, bench_chain, unavailable_reason}});
}

}  // namespace forebay::bench::read
