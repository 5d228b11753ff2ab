// SPDX-License-Identifier: Apache-2.0
// pfs.istream: a file read in order in small records, by std::ifstream and by forebay::istream.
#include <forebay/istream.hpp>
#include <forebay/runtime.hpp>

#include "bench/frame/clock.hpp"
#include "bench/frame/records.hpp"
#include "bench/pfs/site.hpp"

namespace forebay::bench::pfs {

namespace {

constexpr std::size_t kRecordBytes = 4096;

Result<double> time_istream(Runtime& runtime, const Cut& cut) {
  const Stopwatch watch;
  auto file = runtime.open(cut.path.string());
  if (!file) return failure(file.error());
  auto session = file->read_session();
  if (!session) return failure(session.error());
  istream stream(*session);
  if (auto done = read_records<kRecordBytes>(stream, cut.file_bytes); !done)
    return failure(done.error());
  return watch.seconds();
}

}  // namespace

Status bench_istream(Context& context) {
  const std::string id = "pfs.istream";
  if (!context.wants(id)) return {};
  const auto site = Site::with_words(context, {.machine = "lustre-small", .words = {}});
  if (!site) return failure(site.error());
  const Cut cut = (*site)->cut(1);
  Runtime runtime;
  const auto rounds =
      context.run(id, kRounds,
                  {{"forebay", (*site)->cold(), [&] { return time_istream(runtime, cut); }},
                   {"std::ifstream", (*site)->cold(),
                    [&] { return time_ifstream<kRecordBytes>(cut.path, cut.file_bytes); }}});
  if (!rounds) return failure(rounds.error());
  context.add({.id = id,
               .unit = "1",
               .measured = rounds->ratio("std::ifstream", "forebay"),
               .goal = Goal{4, Better::kHigher},
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"std::ifstream", "s", rounds->summary("std::ifstream")}}});
  return {};
}

}  // namespace forebay::bench::pfs
