// SPDX-License-Identifier: Apache-2.0
// Writes compressed rows: docs/formats/cubex.md, "How Forebay writes".
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cube/compressed_layout.hpp"
#include "cube/compression.hpp"
#include "cube/profile_writer.hpp"
#include "runner/parallel_for.hpp"

namespace forebay::cube {

namespace {

/// Rows prefetched for each thread: compressing one takes longer than reading several.
constexpr std::uint64_t kPrefetchedRows = 2;

/// Gathers bytes that are contiguous in the file in buffers of the stream.
class ContiguousWriter {
 public:
  explicit ContiguousWriter(ProfileOutput& output) : output_(output) {}

  /// `offset` is the end of the last call's bytes, or begins a new run.
  Status add(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (offset != offset_ + filled_bytes_) {
      if (const Status flushed = flush(); !flushed) return flushed;
      offset_ = offset;
    }
    while (!bytes.empty()) {
      const Result<std::size_t> count = take(bytes);
      if (!count) return failure(count.error());
      bytes = bytes.subspan(*count);
    }
    return {};
  }

  Status flush() {
    if (!buffer_) return {};
    const std::uint64_t size_bytes = std::exchange(filled_bytes_, 0);
    const Status done = output_.submit(std::move(*buffer_), offset_, size_bytes);
    buffer_.reset();
    offset_ += size_bytes;
    return done;
  }

 private:
  /// Copies as many bytes as the buffer has room for.
  Result<std::size_t> take(std::span<const std::byte> bytes) {
    if (!buffer_) {
      auto acquired = output_.acquire(offset_);
      if (!acquired) return failure(acquired.error());
      buffer_.emplace(std::move(*acquired));
    }
    const auto room = buffer_->bytes().subspan(filled_bytes_);
    const std::size_t count = std::min(room.size(), bytes.size());
    std::ranges::copy(bytes.first(count), room.begin());
    filled_bytes_ += count;
    if (count < room.size()) return count;
    if (const Status flushed = flush(); !flushed) return failure(flushed.error());
    return count;
  }

  ProfileOutput& output_;
  std::optional<OutputBuffer> buffer_;
  std::uint64_t offset_ = 0;  // of the buffer
  std::uint64_t filled_bytes_ = 0;
};

std::uint64_t row_count(std::span<const RowChunk> share) {
  std::uint64_t count = 0;
  for (const RowChunk& chunk : share)
    count += chunk.count;
  return count;
}

std::vector<RowChunk> split_into_rows(std::span<const RowChunk> share) {
  std::vector<RowChunk> rows;
  for (const RowChunk& chunk : share)
    for (std::uint64_t i = 0; i < chunk.count; ++i)
      rows.push_back({chunk.metric, chunk.first + i, 1});
  return rows;
}

class CompressedRowWriter {
 public:
  using Shares = std::span<const std::vector<RowChunk>>;
  using Sizes = std::vector<std::uint64_t>;

  CompressedRowWriter(const ProfileWriter& writer,
                      const CompressionOptions& compression,
                      WriterComm& comm)
      : writer_(writer),
        level_(compression.level),
        comm_(comm),
        layout_(writer.profile),
        shares_(
            plan_compression_shares(writer.profile.metrics, plan_of(writer, compression, comm))),
        workers_(writer.threads) {}

  /// A rank that fails to write reports it in the next exchange of sizes, where all ranks wait
  /// anyway; after the last round, to its caller.
  Status write() {
    Status local;
    for (std::size_t begin = 0; begin < shares_.size(); begin += comm_.size()) {
      const Shares round = Shares(shares_).subspan(begin, comm_.size());
      if (local) local = compress(split_into_rows(round[comm_.rank()]));
      const auto sizes = comm_.allgather(compressed_sizes(local));
      if (!sizes) return failure(sizes.error());
      local = write_rows(local_offsets(*sizes, round));
    }
    return local;
  }

 private:
  /// Memory of one thread.
  struct Worker {
    std::vector<std::byte> row;
    std::vector<std::byte> compressed;
  };

  static CompressionPlan plan_of(const ProfileWriter& writer,
                                 const CompressionOptions& compression,
                                 WriterComm& comm) {
    const std::uint64_t least = writer.threads * row_bytes_max(writer.profile.metrics);
    return {.ranks = comm.size(), .share_bytes = std::max(least, compression.memory_bytes)};
  }

  Status compress(const std::vector<RowChunk>& rows) {
    compressed_.assign(rows.size(), {});
    const std::uint64_t ahead =
        std::min<std::uint64_t>(rows.size(), kPrefetchedRows * writer_.threads);
    for (const RowChunk& row : std::span(rows).first(ahead))
      writer_.rows.prefetch(row);
    return runner::parallel_for(rows.size(), writer_.threads,
                                [&](std::uint64_t i, unsigned thread) {
                                  if (i + ahead < rows.size())
                                    writer_.rows.prefetch(rows[i + ahead]);
                                  return compress_row(rows[i], thread, compressed_[i]);
                                });
  }

  Status compress_row(const RowChunk& which, unsigned thread, std::vector<std::byte>& into) {
    auto& [row, compressed] = workers_[thread];
    row.resize(writer_.profile.metrics[which.metric].row_bytes);
    if (const Status made = writer_.rows.fill(which, row, thread); !made) return made;
    if (const Status done = deflate_row(row, level_, compressed); !done) return done;
    into.assign(compressed.begin(), compressed.end());
    writer_.progress.advance(row.size());
    return {};
  }

  Result<Sizes> compressed_sizes(const Status& local) const {
    if (!local) return failure(local.error());
    Sizes sizes;
    for (const auto& row : compressed_)
      sizes.push_back(row.size());
    return sizes;
  }

  /// Appends the rows of all ranks to the layout; returns the offsets of this rank's rows.
  Sizes local_offsets(const Sizes& sizes, Shares round) {
    Sizes offsets;
    std::size_t next = 0;
    for (std::uint32_t rank = 0; rank < comm_.size(); ++rank) {
      const std::size_t end = next + row_count(round[rank]);
      for (; next < end; ++next) {
        const std::uint64_t offset = layout_.append_row(sizes[next]);
        if (rank == comm_.rank()) offsets.push_back(offset);
      }
    }
    return offsets;
  }

  Status write_rows(const Sizes& offsets) {
    ContiguousWriter run(writer_.output);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (const Status added = run.add(offsets[i], compressed_[i]); !added) return added;
      compressed_[i] = {};
    }
    if (const Status flushed = run.flush(); !flushed) return flushed;
    const auto framing = layout_.take_framing();  // on all ranks
    return comm_.rank() == 0 ? writer_.output.write(framing) : Status();
  }

  const ProfileWriter& writer_;
  const int level_;
  WriterComm& comm_;
  CompressedLayout layout_;
  const std::vector<std::vector<RowChunk>> shares_;
  std::vector<Worker> workers_;
  std::vector<std::vector<std::byte>> compressed_;  // this rank's rows of a round
};

}  // namespace

Status write_compressed_rows(const ProfileWriter& writer,
                             const CompressionOptions& compression,
                             WriterComm& comm) {
  return CompressedRowWriter(writer, compression, comm).write();
}

}  // namespace forebay::cube
