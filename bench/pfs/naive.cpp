// SPDX-License-Identifier: Apache-2.0
// pfs.naive_over_session and pfs.naive_fd_over_session: many tasks that read the file themselves,
// each opening it or all by one descriptor, compared with a session. Every byte is verified.
#include "bench/pfs/mounted_file.hpp"

namespace forebay::bench::pfs {

Status bench_naive(Context& context) {
  const bool is_naive_selected = context.is_selected("pfs.naive_over_session");
  const bool is_descriptor_selected = context.is_selected("pfs.naive_fd_over_session");
  if (!is_naive_selected && !is_descriptor_selected) return {};
  const auto mounted_file =
      MountedFile::with_word_file(context, {.machine = "lustre-small", .arguments = {}});
  if (!mounted_file) return failure(mounted_file.error());
  const std::uint64_t tasks = context.choose(read::kTasks, read::kTasks / 8);
  const auto rounds =
      context.run("pfs.naive_over_session", kRounds,
                  {(*mounted_file)->variant("forebay", read::Kernel::kSession, tasks),
                   (*mounted_file)->variant("naive", read::Kernel::kNaive, tasks),
                   (*mounted_file)->variant("naive-fd", read::Kernel::kNaiveDescriptor, tasks)});
  if (!rounds) return failure(rounds.error());
  const std::vector<Peer> peers = {{"forebay", "s", rounds->summary("forebay")},
                                   {"naive", "s", rounds->summary("naive")},
                                   {"naive-fd", "s", rounds->summary("naive-fd")}};
  if (is_naive_selected) {
    context.add({"pfs.naive_over_session", "1", rounds->ratio("naive", "forebay"),
                 Goal{3.3, Better::kHigher}, peers});
  }
  if (is_descriptor_selected) {
    context.add({"pfs.naive_fd_over_session", "1", rounds->ratio("naive-fd", "forebay"),
                 Goal{2.4, Better::kHigher}, peers});
  }
  return {};
}

}  // namespace forebay::bench::pfs
