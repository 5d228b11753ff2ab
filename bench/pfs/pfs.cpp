// SPDX-License-Identifier: Apache-2.0
// Sessions on an emulated parallel file system, against the limit of its machine file and beside
// programs that read for themselves.
#include <initializer_list>
#include <string>

#include "bench/emufs/mounted.hpp"
#include "bench/frame/benchmark.hpp"
#include "bench/pfs/auto.hpp"
#include "bench/pfs/site.hpp"

namespace forebay::bench::pfs {

namespace {

/// All rows are left out where nothing can be mounted.
void leave_out_all(Context& context, const std::string& why) {
  for (const char* const id :
       {"pfs.over_limit", "pfs.naive_over_session", "pfs.naive_fd_over_session", "pfs.overlap",
        "pfs.istream", "pfs.streams", "pfs.subarray.over_rows", "pfs.tipsy.over_changa",
        "pfs.auto.over_best"}) {
    if (context.wants(id)) context.leave_out(id, why);
  }
}

}  // namespace

FOREBAY_BENCHMARK(pfs, "sessions on an emulated parallel file system, against its limit") {
  if (const std::string why = emufs::why_no_mounts(); !why.empty()) {
    leave_out_all(context, why);
    return {};
  }
  using Page = Status (*)(Context&);
  const std::initializer_list<Page> pages = {bench_limit,   bench_naive,   bench_overlap,
                                             bench_istream, bench_streams, bench_blocks,
                                             bench_tipsy,   bench_auto};
  for (const Page page : pages) {
    if (auto done = page(context); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench::pfs
