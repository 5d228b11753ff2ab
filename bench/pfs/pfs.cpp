// SPDX-License-Identifier: Apache-2.0
// Views and streams of sessions on an emulated parallel file system, compared with the limit of its
// machine file and with programs that read by themselves. Rows about reads are kernels
// (python/forebay/kernel_bench/pfs.py).
#include <initializer_list>
#include <string>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/frame/benchmark.hpp"
#include "bench/pfs/mounted_file.hpp"

namespace forebay::bench::pfs {

namespace {

/// Skips all rows if mounting is not possible.
void skip_all(Context& context, const std::string& why) {
  for (const char* const id : {"pfs.overlap", "pfs.istream", "pfs.streams",
                               "pfs.subarray.over_rows", "pfs.tipsy.over_changa"}) {
    if (context.is_selected(id)) context.skip(id, why);
  }
}

}  // namespace

FOREBAY_BENCHMARK(pfs, "sessions on an emulated parallel file system, compared with its limit") {
  if (const std::string why = emufs::mount_unavailable_reason(); !why.empty()) {
    skip_all(context, why);
    return {};
  }
  using Page = Status (*)(Context&);
  const std::initializer_list<Page> pages = {bench_overlap, bench_istream, bench_streams,
                                             bench_blocks, bench_tipsy};
  for (const Page page : pages) {
    if (auto done = page(context); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench::pfs
