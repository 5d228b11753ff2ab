// SPDX-License-Identifier: Apache-2.0
#include "cube/profile_writer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "runner/parallel_for.hpp"

namespace forebay::cube {

namespace {

/// Chunks prefetched for each thread: one is computed while the input of the next is read.
constexpr std::uint64_t kPrefetchedChunks = 2;

/// Writes plain rows. A row longer than a stream buffer is computed in separate memory and written
/// in pieces.
class PlainRowWriter {
 public:
  PlainRowWriter(const ProfileWriter& writer, const ProfileLayout& layout)
      : writer_(writer), layout_(layout), long_rows_(writer.threads) {}

  Status write(const RowChunk& chunk, unsigned thread) {
    const RowsLayout& rows = layout_.rows[chunk.metric];
    const ByteRange range{rows.row(chunk.first).offset, rows.row_bytes * chunk.count};
    const bool fits = range.size <= writer_.output.buffer_bytes();
    const Status done =
        fits ? write_in_buffer(chunk, range, thread) : write_long_row(chunk, range, thread);
    if (done) writer_.progress.advance(range.size);
    return done;
  }

 private:
  Status write_in_buffer(const RowChunk& chunk, ByteRange range, unsigned thread) {
    auto buffer = writer_.output.acquire(range.offset);
    if (!buffer) return failure(buffer.error());
    const Status filled = writer_.rows.fill(chunk, buffer->bytes().first(range.size), thread);
    if (!filled) return filled;
    return writer_.output.submit(std::move(*buffer), range.offset, range.size);
  }

  Status write_long_row(const RowChunk& chunk, ByteRange range, unsigned thread) {
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
                        std::span<const FileSegment> framing,
                        std::span<const RowChunk> chunks) {
  PlainRowWriter rows(writer, layout);
  const std::uint64_t ahead =
      std::min<std::uint64_t>(chunks.size(), kPrefetchedChunks * writer.threads);
  for (const RowChunk& chunk : chunks.first(ahead))
    writer.rows.prefetch(chunk);
  // Iteration 0 writes the framing, while rows are computed.
  return runner::parallel_for(chunks.size() + 1, writer.threads,
                              [&](std::uint64_t i, unsigned thread) {
                                if (i == 0) return writer.output.write(framing);
                                if (i - 1 + ahead < chunks.size())
                                  writer.rows.prefetch(chunks[i - 1 + ahead]);
                                return rows.write(chunks[i - 1], thread);
                              });
}

}  // namespace forebay::cube
