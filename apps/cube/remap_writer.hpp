// SPDX-License-Identifier: Apache-2.0
// Writes a remapped profile through a stream: plain rows in one pass, compressed ones in batches.
#pragma once

#include <forebay/output_stream.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "command/progress.hpp"
#include "cube/remap_layout.hpp"
#include "cube/remap_rows.hpp"

namespace forebay::cube {

/// What a writer writes to, and how it is told of.
struct RemapTarget {
  OutputStream& stream;
  const OutputFile& file;
  command::Progress& progress;
};

/// The threads of one remapping: rows are made by any of them.
class RemapWriter {
 public:
  /// All but `threads` outlives it.
  RemapWriter(const RemapSource& source,
              const std::vector<RemapMetric>& metrics,
              RemapTarget target,
              unsigned threads);

  /// Writes what surrounds the rows, and the rows of `chunks`, each chunk as one buffer of the
  /// stream, which must have room for it.
  Status write_plain(const RemapLayout& layout, std::span<const RowChunk> chunks);

  /// Compresses and writes everything; memory for rows is bounded by `batch_bytes`, or by a row for
  /// each thread.
  Status write_packed(const RemapFrame& frame, int level, std::uint64_t batch_bytes);

 private:
  /// A row under compression, one for each thread.
  struct Packer {
    std::vector<std::byte> row;
  };
  Status write_chunk(const RowsPlace& place, const RowChunk& chunk, RowMaker& maker);
  Status write_pieces(const std::vector<Piece>& pieces);
  Status write_packed_rows(ArchiveLayout& archive, const RemapMetric& metric);
  Status pack_batch(const RemapMetric& metric,
                    std::uint64_t first,
                    std::vector<std::vector<std::byte>>& packed);

  const std::vector<RemapMetric>& metrics_;
  const std::uint64_t location_count_;
  const RemapTarget target_;
  std::vector<std::unique_ptr<RowMaker>> makers_;  // one for each thread
  std::vector<Packer> packers_;
  int level_ = 0;
  std::uint64_t batch_bytes_ = 0;
};

}  // namespace forebay::cube
