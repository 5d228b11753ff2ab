// SPDX-License-Identifier: Apache-2.0
// pfs.istream: a file read in order in small records, by std::ifstream and by forebay::istream.
#include <forebay/istream.hpp>
#include <forebay/runtime.hpp>

#include "bench/frame/clock.hpp"
#include "bench/frame/records.hpp"
#include "bench/pfs/mounted_file.hpp"

namespace forebay::bench::pfs {

namespace {

constexpr std::size_t kRecordBytes = 4096;

Result<double> time_istream(Runtime& runtime, const FilePartition& partition) {
  const Stopwatch watch;
  auto file = runtime.open_file(partition.path.string());
  if (!file) return failure(file.error());
  auto session = file->read_session();
  if (!session) return failure(session.error());
  istream stream(*session);
  if (auto done = read_records<kRecordBytes>(stream, partition.file_bytes); !done)
    return failure(done.error());
  return watch.seconds();
}

}  // namespace

Status bench_istream(Context& context) {
  const auto mounted_file =
      MountedFile::with_word_file(context, {.machine = "lustre-small", .arguments = {}});
  const FilePartition partition = mounted_file->partition(1);
  Runtime runtime;
  return context.compare(
      {.rows = {{"pfs.istream", ratio_of("std::ifstream", "forebay"), Goal{4, Better::kHigher}}},
       .variants = {{"forebay", mounted_file->drop_cache(),
                     [&] { return time_istream(runtime, partition); }},
                    {"std::ifstream", mounted_file->drop_cache(), [&] {
                       return time_ifstream<kRecordBytes>(partition.path, partition.file_bytes);
                     }}}});
}

}  // namespace forebay::bench::pfs
