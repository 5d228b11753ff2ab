// SPDX-License-Identifier: Apache-2.0
// A block of a three-dimensional array as one request, compared with one pread for each of its
// rows.
#include "bench/solo/block.hpp"
#include "bench/solo/solo.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::solo {

Status bench_blocks(Context& context) {
  if (!context.is_selected("solo.subarray.over_rows")) return {};
  const auto edge = context.choose<std::uint64_t>(512, 256);
  // Off the middle, so that rows begin anywhere in a page.
  Block block{.path = {}, .edge = edge, .block_edge = edge / 4, .start = edge / 4 + 3};
  auto path = context.word_file(block.file_bytes());
  if (!path) return failure(path.error());
  block.path = *path;
  const auto memory = PrefaultedMemory::make(block.bytes());
  if (!memory) return failure(memory.error());
  Runtime runtime;
  const auto cold = [&] { return probe::drop_cached(block.path); };
  auto rounds =
      context.run("solo.subarray.over_rows", 9,
                  {{"forebay", cold, [&] { return time_request(runtime, block, memory->bytes()); }},
                   {"rows", cold, [&] { return time_rows(block, memory->bytes()); }}});
  if (!rounds) return failure(rounds.error());
  context.add({.id = "solo.subarray.over_rows",
               .unit = "1",
               .measured = rounds->ratio("forebay", "rows"),
               .goal = Goal{0.3},
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"pread a row", "s", rounds->summary("rows")}}});
  return {};
}

}  // namespace forebay::bench::solo
