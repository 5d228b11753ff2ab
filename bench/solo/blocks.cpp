// SPDX-License-Identifier: Apache-2.0
// A block of a three-dimensional array as one request, beside one pread for each of its rows.
#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/solo/solo.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::solo {

namespace {

constexpr std::size_t kElementBytes = 8;

/// A cube in the middle of a cube of doubles in C order, off the middle so that rows begin anywhere
/// in a page.
struct Block {
  std::filesystem::path path;
  std::uint64_t edge = 0;
  std::uint64_t block_edge = 0;

  std::uint64_t start() const noexcept { return edge / 4 + 3; }
  std::uint64_t file_bytes() const noexcept { return edge * edge * edge * kElementBytes; }
  std::uint64_t bytes() const noexcept {
    return block_edge * block_edge * block_edge * kElementBytes;
  }
  std::uint64_t row_bytes() const noexcept { return block_edge * kElementBytes; }
  std::uint64_t row_offset(std::uint64_t z, std::uint64_t y) const noexcept {
    return (((start() + z) * edge + start() + y) * edge + start()) * kElementBytes;
  }
};

Status check(const Block& block, std::span<const std::byte> bytes) {
  for (std::uint64_t z = 0; z < block.block_edge; ++z) {
    for (std::uint64_t y = 0; y < block.block_edge; ++y) {
      const auto row =
          bytes.subspan((z * block.block_edge + y) * block.row_bytes(), block.row_bytes());
      if (auto touched = touch(row, block.row_offset(z, y)); !touched) return touched;
    }
  }
  return {};
}

Result<double> time_request(Runtime& runtime, const Block& block, std::span<std::byte> into) {
  auto file = runtime.open(block.path.string());
  if (!file) return tl::unexpected<Error>(file.error());
  const Stopwatch watch;
  auto session = file->read_session();
  if (!session) return tl::unexpected<Error>(session.error());
  const std::vector<std::uint64_t> shape(3, block.edge);
  const std::vector<std::uint64_t> start(3, block.start());
  const std::vector<std::uint64_t> count(3, block.block_edge);
  auto got = session->read(Subarray{shape, start, count, kElementBytes}, into).wait();
  if (!got) return tl::unexpected<Error>(got.error());
  const double seconds = watch.seconds();
  if (auto checked = check(block, into); !checked) return tl::unexpected<Error>(checked.error());
  return seconds;
}

Result<double> time_rows(const Block& block, std::span<std::byte> into) {
  const Stopwatch watch;
  const Descriptor file(::open(block.path.c_str(), O_RDONLY | O_CLOEXEC));
  std::uint64_t done = 0;
  for (std::uint64_t z = 0; z < block.block_edge; ++z) {
    for (std::uint64_t y = 0; y < block.block_edge; ++y) {
      const auto at = static_cast<off_t>(block.row_offset(z, y));
      if (::pread(file.get(), into.data() + done, block.row_bytes(), at) < 0) break;
      done += block.row_bytes();
    }
  }
  const double seconds = watch.seconds();
  if (auto checked = check(block, into); !checked) return tl::unexpected<Error>(checked.error());
  return seconds;
}

}  // namespace

Status bench_blocks(Context& context) {
  if (!context.wants("solo.subarray.over_rows")) return {};
  Block block{.path = {}, .edge = context.choose<std::uint64_t>(512, 256), .block_edge = 0};
  block.block_edge = block.edge / 4;
  auto path = context.word_file(block.file_bytes());
  if (!path) return tl::unexpected<Error>(path.error());
  block.path = *path;
  const TouchedMemory memory(block.bytes());
  Runtime runtime;
  const auto cold = [&] { return probe::drop_cached(block.path); };
  auto rounds =
      context.run("solo.subarray.over_rows", 9,
                  {{"forebay", cold, [&] { return time_request(runtime, block, memory.bytes()); }},
                   {"rows", cold, [&] { return time_rows(block, memory.bytes()); }}});
  if (!rounds) return tl::unexpected<Error>(rounds.error());
  context.add({.id = "solo.subarray.over_rows",
               .unit = "1",
               .measured = rounds->ratio("forebay", "rows"),
               .goal = Goal{0.3},
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"pread a row", "s", rounds->summary("rows")}}});
  return {};
}

}  // namespace forebay::bench::solo
