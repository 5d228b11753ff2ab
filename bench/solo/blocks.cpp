// SPDX-License-Identifier: Apache-2.0
// A block of a three-dimensional array as one request, compared with one pread for each of its
// rows.
#include "bench/solo/block.hpp"
#include "bench/solo/solo.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::solo {

Status bench_blocks(Context& context) {
  const auto edge = context.choose<std::uint64_t>(512, 256);
  // Off the middle, so that rows begin anywhere in a page.
  Block block{.path = {}, .edge = edge, .block_edge = edge / 4, .start = edge / 4 + 3};
  block.path = context.word_file(block.file_bytes()).value();
  const auto memory = PrefaultedMemory::make(block.bytes()).value();
  Runtime runtime;
  const auto cold = [&] { return probe::drop_cached(block.path); };
  return context.compare(
      {.rows = {{"solo.subarray.over_rows", ratio_of("forebay", "pread a row"), Goal{0.3}}},
       .rounds = 9,
       .variants = {{"forebay", cold, [&] { return time_request(runtime, block, memory.bytes()); }},
                    {"pread a row", cold, [&] { return time_rows(block, memory.bytes()); }}}});
}

}  // namespace forebay::bench::solo
