// SPDX-License-Identifier: Apache-2.0
// pfs.subarray.over_rows: a block in the middle of a three-dimensional array as one request, beside
// one pread for each of its rows, which are a page apart: the page cache sees a run and reads
// ahead. So nobody has less to read than all between the rows of a plane. Every row is checked.
#include <forebay/runtime.hpp>

#include "bench/pfs/site.hpp"
#include "bench/solo/block.hpp"

namespace forebay::bench::pfs {

Status bench_blocks(Context& context) {
  const std::string id = "pfs.subarray.over_rows";
  if (!context.wants(id)) return {};
  const auto edge = context.choose<std::uint64_t>(512, 256);
  solo::Block block{
      .path = {}, .edge = edge, .block_edge = edge / 4, .start = (edge - edge / 4) / 2};
  const auto array = context.word_file(block.file_bytes());
  if (!array) return failure(array.error());
  const auto site = Site::make(context, {.machine = "lustre-small", .words = {}}, *array);
  if (!site) return failure(site.error());
  block.path = (*site)->path();
  const double limit_s = (*site)->limit_s(block.span_bytes());
  const auto memory = TouchedMemory::make(block.bytes());
  if (!memory) return failure(memory.error());
  Runtime runtime;
  // As docs/guides/reading.md says to those that pick pieces.
  const ReadPlan plan{.eager_bytes = 0, .reason = {}};
  const auto rounds =
      context.run(id, kRounds,
                  {{"forebay", (*site)->cold(),
                    [&] { return time_request(runtime, block, memory->bytes(), plan); }},
                   {"rows", (*site)->cold(), [&] { return time_rows(block, memory->bytes()); }}});
  if (!rounds) return failure(rounds.error());
  context.add({.id = id,
               .unit = "1",
               .measured = rounds->ratio("forebay", "rows"),
               .goal = Goal{0.1},
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"pread a row", "s", rounds->summary("rows")},
                         {"storage's limit", "s", summarise({limit_s})}}});
  return {};
}

}  // namespace forebay::bench::pfs
