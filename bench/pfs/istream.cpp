// SPDX-License-Identifier: Apache-2.0
// pfs.istream: a file read in order in small records, by std::ifstream and by forebay::istream.
#include <forebay/istream.hpp>
#include <forebay/runtime.hpp>

#include <array>
#include <fstream>

#include "bench/frame/clock.hpp"
#include "bench/pfs/site.hpp"

namespace forebay::bench::pfs {

namespace {

constexpr std::size_t kRecordBytes = 4096;

/// A stream in records to its end; fails unless each is in its place.
template <class Stream>
Status read_records(Stream& stream, std::uint64_t file_bytes) {
  std::array<std::uint64_t, kRecordBytes / sizeof(std::uint64_t)> record{};
  std::uint64_t at = 0;
  std::uint64_t difference = 0;
  while (stream.read(reinterpret_cast<char*>(record.data()), kRecordBytes)) {
    difference |= record[0] ^ at;
    at += kRecordBytes;
  }
  if (at == file_bytes && difference == 0) return {};
  return failure({.kind = ErrorClass::kDamage, .operation = "read records", .offset_bytes = at});
}

Result<double> time_ifstream(const Cut& cut) {
  const Stopwatch watch;
  std::ifstream stream(cut.path, std::ios::binary);
  if (auto done = read_records(stream, cut.file_bytes); !done)
    return tl::unexpected<Error>(done.error());
  return watch.seconds();
}

Result<double> time_istream(Runtime& runtime, const Cut& cut) {
  const Stopwatch watch;
  auto file = runtime.open(cut.path.string());
  if (!file) return tl::unexpected<Error>(file.error());
  auto session = file->read_session();
  if (!session) return tl::unexpected<Error>(session.error());
  istream stream(*session);
  if (auto done = read_records(stream, cut.file_bytes); !done)
    return tl::unexpected<Error>(done.error());
  return watch.seconds();
}

}  // namespace

Status bench_istream(Context& context) {
  const std::string id = "pfs.istream";
  if (!context.wants(id)) return {};
  const auto site = Site::with_words(context, {.machine = "lustre-small", .words = {}});
  if (!site) return tl::unexpected<Error>(site.error());
  const Cut cut = (*site)->cut(1);
  Runtime runtime;
  const auto rounds =
      context.run(id, kRounds,
                  {{"forebay", (*site)->cold(), [&] { return time_istream(runtime, cut); }},
                   {"std::ifstream", (*site)->cold(), [&] { return time_ifstream(cut); }}});
  if (!rounds) return tl::unexpected<Error>(rounds.error());
  context.add({.id = id,
               .unit = "1",
               .measured = rounds->ratio("std::ifstream", "forebay"),
               .goal = Goal{4, Better::kHigher},
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"std::ifstream", "s", rounds->summary("std::ifstream")}}});
  return {};
}

}  // namespace forebay::bench::pfs
