// SPDX-License-Identifier: Apache-2.0
// pfs.naive_over_session and pfs.naive_fd_over_session: many tasks that read for themselves, each
// opening the file or all by one descriptor, beside a session. Every byte is checked.
#include "bench/pfs/site.hpp"

namespace forebay::bench::pfs {

Status bench_naive(Context& context) {
  const bool wants_naive = context.wants("pfs.naive_over_session");
  const bool wants_descriptor = context.wants("pfs.naive_fd_over_session");
  if (!wants_naive && !wants_descriptor) return {};
  const auto site = Site::with_words(context, {.machine = "lustre-small", .words = {}});
  if (!site) return failure(site.error());
  const std::uint64_t tasks = context.choose(read::kTasks, read::kTasks / 8);
  const auto rounds =
      context.run("pfs.naive_over_session", kRounds,
                  {(*site)->variant("forebay", read::Work::kSession, tasks),
                   (*site)->variant("naive", read::Work::kNaive, tasks),
                   (*site)->variant("naive-fd", read::Work::kNaiveDescriptor, tasks)});
  if (!rounds) return failure(rounds.error());
  const std::vector<Peer> peers = {{"forebay", "s", rounds->summary("forebay")},
                                   {"naive", "s", rounds->summary("naive")},
                                   {"naive-fd", "s", rounds->summary("naive-fd")}};
  if (wants_naive) {
    context.add({"pfs.naive_over_session", "1", rounds->ratio("naive", "forebay"),
                 Goal{3.3, Better::kHigher}, peers});
  }
  if (wants_descriptor) {
    context.add({"pfs.naive_fd_over_session", "1", rounds->ratio("naive-fd", "forebay"),
                 Goal{2.4, Better::kHigher}, peers});
  }
  return {};
}

}  // namespace forebay::bench::pfs
