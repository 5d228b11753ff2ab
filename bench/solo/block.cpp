// SPDX-License-Identifier: Apache-2.0
#include "bench/solo/block.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/file_partition.hpp"

namespace forebay::bench::solo {

namespace {

/// Earlier measurements have left the correct bytes in it.
void reset_buffer(std::span<std::byte> into) {
  std::fill(into.begin(), into.end(), std::byte{0xFF});
}

Status verify_block(const Block& block, std::span<const std::byte> bytes) {
  for (std::uint64_t z = 0; z < block.block_edge; ++z) {
    for (std::uint64_t y = 0; y < block.block_edge; ++y) {
      const auto row =
          bytes.subspan((z * block.block_edge + y) * block.row_bytes(), block.row_bytes());
      if (auto touched = verify_words(row, block.row_offset(z, y)); !touched) return touched;
    }
  }
  return {};
}

Status read_row(int descriptor, std::uint64_t at, std::span<std::byte> into) {
  const auto got = ::pread(descriptor, into.data(), into.size(), static_cast<off_t>(at));
  if (got == static_cast<ssize_t>(into.size())) return {};
  return failure(
      system_error({.operation = "pread a row", .offset_bytes = at}, got < 0 ? errno : EIO));
}

Status read_rows(int descriptor, const Block& block, std::span<std::byte> into) {
  for (std::uint64_t z = 0; z < block.block_edge; ++z) {
    for (std::uint64_t y = 0; y < block.block_edge; ++y) {
      const auto row = into.first(block.row_bytes());
      if (Status read = read_row(descriptor, block.row_offset(z, y), row); !read) return read;
      into = into.subspan(row.size());
    }
  }
  return {};
}

}  // namespace

Result<double> time_request(Runtime& runtime,
                            const Block& block,
                            std::span<std::byte> into,
                            const ReadPlan& plan) {
  auto file = runtime.open_file(block.path.string());
  if (!file) return failure(file.error());
  reset_buffer(into);
  const Stopwatch watch;
  auto session = file->read_session({}, plan);
  if (!session) return failure(session.error());
  const std::vector<std::uint64_t> shape(3, block.edge);
  const std::vector<std::uint64_t> start(3, block.start);
  const std::vector<std::uint64_t> count(3, block.block_edge);
  auto got = session->read(Subarray{shape, start, count, sizeof(double)}, into).wait();
  if (!got) return failure(got.error());
  const double seconds = watch.seconds();
  if (auto checked = verify_block(block, into); !checked) return failure(checked.error());
  return seconds;
}

Result<double> time_rows(const Block& block, std::span<std::byte> into) {
  reset_buffer(into);
  const Stopwatch watch;
  const Descriptor file(::open(block.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (Status read = read_rows(file.get(), block, into); !read) return failure(read.error());
  const double seconds = watch.seconds();
  if (auto checked = verify_block(block, into); !checked) return failure(checked.error());
  return seconds;
}

}  // namespace forebay::bench::solo
