// SPDX-License-Identifier: Apache-2.0
#include "cube/profile_writer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "runner/at_once.hpp"

namespace forebay::cube {

namespace {

/// So many chunks for each thread are told of before they are asked for: one is computed while the
/// input of the next is read.
constexpr std::uint64_t kChunksAhead = 2;

/// A row that is longer than a buffer of the stream is made apart and goes through in pieces.
class PlainRows {
 public:
  PlainRows(const ProfileWriter& writer, const ProfileLayout& layout)
      : writer_(writer), layout_(layout), long_rows_(writer.threads) {}

  Status write(const RowChunk& chunk, unsigned thread) {
    const RowsPlace& place = layout_.rows[chunk.metric];
    const ByteRange range{place.row(chunk.first).offset, place.row_bytes * chunk.count};
    const bool fits = range.size <= writer_.output.buffer_bytes();
    const Status done =
        fits ? write_through(chunk, range, thread) : write_apart(chunk, range, thread);
    if (done) writer_.progress.advance(range.size);
    return done;
  }

 private:
  Status write_through(const RowChunk& chunk, ByteRange range, unsigned thread) {
    auto buffer = writer_.output.acquire(range.offset);
    if (!buffer) return failure(buffer.error());
    const Status filled = writer_.rows.fill(chunk, buffer->bytes().first(range.size), thread);
    if (!filled) return filled;
    return writer_.output.submit(std::move(*buffer), range.offset, range.size);
  }

  Status write_apart(const RowChunk& chunk, ByteRange range, unsigned thread) {
    std::vector<std::byte>& row = long_rows_[thread];
    row.resize(range.size);
    if (const Status filled = writer_.rows.fill(chunk, row, thread); !filled) return filled;
    return writer_.output.write(range.offset, row);
  }

  const ProfileWriter& writer_;
  const ProfileLayout& layout_;
  std::vector<std::vector<std::byte>> long_rows_;  // one for each thread
};

}  // namespace

Status write_plain_rows(const ProfileWriter& writer,
                        const ProfileLayout& layout,
                        std::span<const Piece> frame,
                        std::span<const RowChunk> chunks) {
  PlainRows rows(writer, layout);
  const std::uint64_t ahead = std::min<std::uint64_t>(chunks.size(), kChunksAhead * writer.threads);
  for (const RowChunk& chunk : chunks.first(ahead))
    writer.rows.expect(chunk);
  // The frame is one more turn, the first: it is written while rows are computed.
  return runner::for_each_at_once(chunks.size() + 1, writer.threads,
                                  [&](std::uint64_t i, unsigned thread) {
                                    if (i == 0) return writer.output.write(frame);
                                    if (i - 1 + ahead < chunks.size())
                                      writer.rows.expect(chunks[i - 1 + ahead]);
                                    return rows.write(chunks[i - 1], thread);
                                  });
}

}  // namespace forebay::cube
