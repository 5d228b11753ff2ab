// SPDX-License-Identifier: Apache-2.0
#include "cube/remap_writer.hpp"

#include <algorithm>
#include <utility>

#include "cube/at_once.hpp"
#include "cube/container.hpp"
#include "cube/container_writer.hpp"
#include "cube/inflater.hpp"

namespace forebay::cube {

RemapWriter::RemapWriter(const RemapSource& source,
                         const std::vector<RemapMetric>& metrics,
                         RemapTarget target,
                         unsigned threads)
    : metrics_(metrics),
      location_count_(source.profile().anchor().location_count()),
      target_(target),
      packers_(threads) {
  for (unsigned i = 0; i < threads; ++i)
    makers_.push_back(std::make_unique<RowMaker>(source));
}

Status RemapWriter::write_plain(const RemapLayout& layout, std::span<const RowChunk> chunks) {
  // The frame is one more turn, the first: it is written while rows are computed.
  return for_each_at_once(chunks.size() + 1, static_cast<unsigned>(makers_.size()),
                          [&](std::uint64_t i, unsigned worker) {
                            if (i == 0) return write_pieces(layout.frame);
                            const RowChunk& chunk = chunks[i - 1];
                            return write_chunk(*layout.rows[chunk.metric], chunk, *makers_[worker]);
                          });
}

Status RemapWriter::write_chunk(const RowsPlace& place, const RowChunk& chunk, RowMaker& maker) {
  const std::uint64_t offset = place.row(chunk.first).offset;
  const std::uint64_t size_bytes = place.row_bytes * chunk.count;
  auto buffer = target_.stream.acquire_at(target_.file, offset);
  if (!buffer) return tl::unexpected<Error>(buffer.error());
  const Status filled =
      maker.fill(metrics_[chunk.metric], chunk.first, buffer->bytes().first(size_bytes));
  if (!filled) return filled;
  const Status taken = target_.stream.submit(std::move(*buffer), target_.file, offset, size_bytes);
  if (taken) target_.progress.advance(size_bytes);
  return taken;
}

Status RemapWriter::write_pieces(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    const Status wrote = target_.stream.write(target_.file, piece.offset, piece.bytes);
    if (!wrote) return wrote;
    target_.progress.advance(piece.bytes.size());
  }
  return {};
}

Status RemapWriter::write_packed(const RemapFrame& frame, int level, std::uint64_t batch_bytes) {
  level_ = level;
  batch_bytes_ = batch_bytes;
  ArchiveLayout archive;
  PieceCollector pieces;
  const auto add = [&](const std::string& name, const std::string& content) {
    const MemberPlace place = archive.append(name, content.size());
    return write_member(pieces, place, std::as_bytes(std::span(content)));
  };
  for (const CarriedMember& member : frame.carried)
    if (const Status added = add(member.name, member.content); !added) return added;
  for (const RemapMetric& metric : metrics_) {
    if (metric.origin == RowOrigin::kNoRows) continue;
    if (const Status wrote = write_packed_rows(archive, metric); !wrote) return wrote;
  }
  if (const Status added = add(std::string(kAnchorName), frame.anchor); !added) return added;
  if (const Status ended = write_piece(pieces, archive.end()); !ended) return ended;
  return write_pieces(pieces.take());
}

// The table has a known length, so rows are placed as they come; it is written behind them.
Status RemapWriter::write_packed_rows(ArchiveLayout& archive, const RemapMetric& metric) {
  RowsShape shape = rows_shape(metric, location_count_);
  shape.packed_bytes.emplace();
  std::uint64_t offset = archive.end_offset() + kTarBlockBytes + packed_head_bytes(shape.row_count);
  const std::uint64_t batch_rows = std::max<std::uint64_t>(
      makers_.size(), batch_bytes_ / std::max<std::uint64_t>(1, shape.row_bytes));
  for (std::uint64_t first = 0; first < shape.row_count; first += batch_rows) {
    std::vector<std::vector<std::byte>> packed(std::min(batch_rows, shape.row_count - first));
    if (const Status done = pack_batch(metric, first, packed); !done) return done;
    std::vector<std::byte> together;
    for (const auto& row : packed) {
      shape.packed_bytes->push_back(row.size());
      together.insert(together.end(), row.begin(), row.end());
    }
    const Status wrote = target_.stream.write(target_.file, offset, together);
    if (!wrote) return wrote;
    offset += together.size();
  }
  PieceCollector pieces;
  const RowsPlace place = append_rows(archive, shape);
  if (const Status made = write_around_rows(pieces, place, metric.index); !made) return made;
  return write_pieces(pieces.take());
}

Status RemapWriter::pack_batch(const RemapMetric& metric,
                               std::uint64_t first,
                               std::vector<std::vector<std::byte>>& packed) {
  const std::uint64_t row_bytes = rows_shape(metric, location_count_).row_bytes;
  return for_each_at_once(packed.size(), static_cast<unsigned>(makers_.size()),
                          [&](std::uint64_t i, unsigned worker) {
                            std::vector<std::byte>& row = packers_[worker].row;
                            row.resize(row_bytes);
                            const Status made = makers_[worker]->fill(metric, first + i, row);
                            if (!made) return made;
                            const Status done = deflate_row(row, level_, packed[i]);
                            packed[i].shrink_to_fit();
                            target_.progress.advance(row_bytes);
                            return done;
                          });
}

}  // namespace forebay::cube
