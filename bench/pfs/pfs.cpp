// SPDX-License-Identifier: Apache-2.0
// Views and streams of sessions on an emulated parallel file system, compared with the limit of its
// machine file and with programs that read by themselves. Rows about reads are kernels
// (python/forebay/benchmarks/pfs.py).
#include "bench/emufs/emufs_mount.hpp"
#include "bench/frame/benchmark.hpp"
#include "bench/pfs/mounted_file.hpp"

namespace forebay::bench::pfs {

FOREBAY_BENCHMARK(pfs, "sessions on an emulated parallel file system, compared with its limit") {
  const auto unavailable = emufs::mount_unavailable_reason;
  const auto overlap_unavailable = [] {
    const std::string why = emufs::mount_unavailable_reason();
    return why.empty() ? overlap_unavailable_reason() : why;
  };
  return run_each(context, {{{"pfs.overlap"}, bench_overlap, overlap_unavailable},
                            {{"pfs.istream"}, bench_istream, unavailable},
                            {{"pfs.streams"}, bench_streams, unavailable},
                            {{"pfs.subarray.over_rows"}, bench_blocks, unavailable},
                            {{"pfs.tipsy.over_changa"}, bench_tipsy, unavailable}});
}

}  // namespace forebay::bench::pfs
