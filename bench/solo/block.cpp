// SPDX-License-Identifier: Apache-2.0
#include "bench/solo/block.hpp"

#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/slices.hpp"

namespace forebay::bench::solo {

namespace {

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

}  // namespace

Result<double> time_request(Runtime& runtime, const Block& block, std::span<std::byte> into) {
  auto file = runtime.open(block.path.string());
  if (!file) return tl::unexpected<Error>(file.error());
  const Stopwatch watch;
  auto session = file->read_session();
  if (!session) return tl::unexpected<Error>(session.error());
  const std::vector<std::uint64_t> shape(3, block.edge);
  const std::vector<std::uint64_t> start(3, block.start);
  const std::vector<std::uint64_t> count(3, block.block_edge);
  auto got = session->read(Subarray{shape, start, count, sizeof(double)}, into).wait();
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

}  // namespace forebay::bench::solo
