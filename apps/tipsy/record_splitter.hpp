// SPDX-License-Identifier: Apache-2.0
// Splits a stream of pieces into complete records. The source chooses where pieces end, so two
// pieces may share a record. Only that record is copied; all others are used in place.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "tipsy/layout.hpp"

namespace forebay::tipsy {

class RecordSplitter {
 public:
  /// The pieces are the bytes of `range`, in order. `layout` must outlive this object.
  RecordSplitter(const Layout& layout, ParticleRange range) : layout_(layout), remaining_(range) {}

  /// The particles that have not been passed to `use` yet.
  ParticleRange remaining() const { return remaining_; }

  /// Takes the next piece, of any length. Calls `use(const RecordRun&, span<const std::byte>)` for
  /// the complete records. The span is valid during the call.
  template <class Use>
  void feed(std::span<const std::byte> chunk, const Use& use) {
    while (!chunk.empty() && !remaining_.empty()) {
      RecordRun run = layout_.next_record_run(remaining_, chunk.size());
      const std::uint64_t record_bytes = run.bytes.size / run.count;
      if (split_bytes_ > 0 || chunk.size() < record_bytes) {
        chunk = chunk.subspan(complete_split_record(chunk, record_bytes));
        if (split_bytes_ < record_bytes) return;
        split_bytes_ = 0;
        run = layout_.next_record_run(remaining_, record_bytes);
        emit(run, std::span(split_).first(record_bytes), use);
      } else {
        emit(run, chunk.first(run.bytes.size), use);
        chunk = chunk.subspan(run.bytes.size);
      }
    }
  }

 private:
  template <class Use>
  void emit(const RecordRun& run, std::span<const std::byte> records, const Use& use) {
    use(run, records);
    remaining_.first += run.count;
  }

  /// Appends missing bytes to the split record; returns the number of bytes taken.
  std::size_t complete_split_record(std::span<const std::byte> chunk, std::uint64_t record_bytes) {
    const std::size_t taken = std::min(chunk.size(), record_bytes - split_bytes_);
    std::memcpy(split_.data() + split_bytes_, chunk.data(), taken);
    split_bytes_ += taken;
    return taken;
  }

  const Layout& layout_;
  ParticleRange remaining_;
  std::array<std::byte, kRecordBytesMax> split_{};
  std::size_t split_bytes_ = 0;  // of the record that began in an earlier piece
};

}  // namespace forebay::tipsy
