// SPDX-License-Identifier: Apache-2.0
// The half of the profile writer that compresses: docs/formats/cubex.md says how places are found.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cube/inflater.hpp"
#include "cube/packing_plan.hpp"
#include "cube/profile_writer.hpp"
#include "runner/at_once.hpp"

namespace forebay::cube {

namespace {

/// So many rows for each thread are told of before they are asked for: compressing one takes longer
/// than reading a few.
constexpr std::uint64_t kRowsAhead = 2;

/// Bytes that follow each other in the file, gathered in buffers of the stream.
class RunWriter {
 public:
  explicit RunWriter(ProfileOutput& output) : output_(output) {}

  /// `offset` is where the last call ended, or begins a new run.
  Status add(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (offset != offset_ + filled_bytes_) {
      if (const Status flushed = flush(); !flushed) return flushed;
      offset_ = offset;
    }
    while (!bytes.empty()) {
      const Result<std::size_t> taken = take(bytes);
      if (!taken) return failure(taken.error());
      bytes = bytes.subspan(*taken);
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
  /// Copies what there is room for.
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

std::vector<RowChunk> single_rows(std::span<const RowChunk> share) {
  std::vector<RowChunk> rows;
  for (const RowChunk& chunk : share)
    for (std::uint64_t i = 0; i < chunk.count; ++i)
      rows.push_back({chunk.metric, chunk.first + i, 1});
  return rows;
}

class PackedRows {
 public:
  using Shares = std::span<const std::vector<RowChunk>>;
  using Sizes = std::vector<std::uint64_t>;

  PackedRows(const ProfileWriter& writer, const Packing& packing, Team& team)
      : writer_(writer),
        level_(packing.level),
        team_(team),
        layout_(writer.profile),
        shares_(plan_shares(writer.profile.metrics, shape_of(writer, packing, team))),
        workers_(writer.threads) {}

  /// A rank that cannot write says so where all wait for it anyway: before the next round is
  /// placed, or, of the last one, to its caller.
  Status write() {
    Status mine;
    for (std::size_t begin = 0; begin < shares_.size(); begin += team_.size()) {
      const Shares round = Shares(shares_).subspan(begin, team_.size());
      if (mine) mine = pack(single_rows(round[team_.rank()]));
      const auto sizes = team_.gather(packed_sizes(mine));
      if (!sizes) return failure(sizes.error());
      mine = write_rows(own_places(*sizes, round));
    }
    return mine;
  }

 private:
  /// Memory of one thread.
  struct Worker {
    std::vector<std::byte> row;
    std::vector<std::byte> packed;
  };

  static PackingShape shape_of(const ProfileWriter& writer, const Packing& packing, Team& team) {
    const std::uint64_t least = writer.threads * row_bytes_max(writer.profile.metrics);
    return {.ranks = team.size(), .share_bytes = std::max(least, packing.memory_bytes)};
  }

  Status pack(const std::vector<RowChunk>& rows) {
    packed_.assign(rows.size(), {});
    const std::uint64_t ahead = std::min<std::uint64_t>(rows.size(), kRowsAhead * writer_.threads);
    for (const RowChunk& row : std::span(rows).first(ahead))
      writer_.rows.expect(row);
    return runner::for_each_at_once(rows.size(), writer_.threads,
                                    [&](std::uint64_t i, unsigned thread) {
                                      if (i + ahead < rows.size())
                                        writer_.rows.expect(rows[i + ahead]);
                                      return pack_row(rows[i], thread, packed_[i]);
                                    });
  }

  Status pack_row(const RowChunk& which, unsigned thread, std::vector<std::byte>& into) {
    auto& [row, packed] = workers_[thread];
    row.resize(writer_.profile.metrics[which.metric].row_bytes);
    if (const Status made = writer_.rows.fill(which, row, thread); !made) return made;
    if (const Status done = deflate_row(row, level_, packed); !done) return done;
    into.assign(packed.begin(), packed.end());
    writer_.progress.advance(row.size());
    return {};
  }

  Result<Sizes> packed_sizes(const Status& mine) const {
    if (!mine) return failure(mine.error());
    Sizes sizes;
    for (const auto& row : packed_)
      sizes.push_back(row.size());
    return sizes;
  }

  /// Where this rank's rows go; places those of the others as well.
  Sizes own_places(const Sizes& sizes, Shares round) {
    Sizes places;
    std::size_t next = 0;
    for (std::uint32_t rank = 0; rank < team_.size(); ++rank) {
      const std::size_t end = next + row_count(round[rank]);
      for (; next < end; ++next) {
        const std::uint64_t place = layout_.place(sizes[next]);
        if (rank == team_.rank()) places.push_back(place);
      }
    }
    return places;
  }

  Status write_rows(const Sizes& places) {
    RunWriter run(writer_.output);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (const Status added = run.add(places[i], packed_[i]); !added) return added;
      packed_[i] = {};
    }
    if (const Status flushed = run.flush(); !flushed) return flushed;
    const auto frame = layout_.take_frame();  // all ranks have it
    return team_.rank() == 0 ? writer_.output.write(frame) : Status();
  }

  const ProfileWriter& writer_;
  const int level_;
  Team& team_;
  PackedLayout layout_;
  const std::vector<std::vector<RowChunk>> shares_;
  std::vector<Worker> workers_;
  std::vector<std::vector<std::byte>> packed_;  // this rank's rows of a round
};

}  // namespace

Status write_packed_rows(const ProfileWriter& writer, const Packing& packing, Team& team) {
  return PackedRows(writer, packing, team).write();
}

}  // namespace forebay::cube
