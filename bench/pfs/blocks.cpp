// SPDX-License-Identifier: Apache-2.0
// pfs.subarray.over_rows: a block in the middle of a three-dimensional array as one request,
// compared with one pread for each of its rows. Rows are a page apart, so the page cache detects a
// sequential run and reads ahead: both read everything between the rows of a plane. Every row is
// verified.
#include <forebay/runtime.hpp>

#include "bench/pfs/mounted_file.hpp"
#include "bench/solo/block.hpp"

namespace forebay::bench::pfs {

Status bench_blocks(Context& context) {
  const auto edge = context.choose<std::uint64_t>(512, 256);
  solo::Block block{
      .path = {}, .edge = edge, .block_edge = edge / 4, .start = (edge - edge / 4) / 2};
  const auto mounted_file = MountedFile::make(context, {.machine = "lustre-small", .arguments = {}},
                                              context.word_file(block.file_bytes()).value());
  block.path = mounted_file->path();
  const double limit_s = mounted_file->lower_bound_s(block.span_bytes());
  const auto memory = PrefaultedMemory::make(block.bytes()).value();
  Runtime runtime;
  // As docs/guides/reading.md recommends for scattered pieces.
  const ReadPlan plan{.readahead_bytes = 0, .reason = {}};
  return context.compare(
      {.rows = {{"pfs.subarray.over_rows", ratio_of("forebay", "pread a row"), Goal{0.1}}},
       .variants = {{"forebay", mounted_file->drop_cache(),
                     [&] { return time_request(runtime, block, memory.bytes(), plan); }},
                    {"pread a row", mounted_file->drop_cache(),
                     [&] { return time_rows(block, memory.bytes()); }}},
       .more_peers = {
           {"storage's limit", "s", [=](const auto&) { return summarize({limit_s}); }}}});
}

}  // namespace forebay::bench::pfs
