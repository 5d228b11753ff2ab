// SPDX-License-Identifier: Apache-2.0
// Cuts a stream of pieces into whole records. Pieces end where it suits whoever reads, so a record
// may lie in two of them: only that one is copied, all others are used where they are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "tipsy/layout.hpp"

namespace forebay::tipsy {

class RecordCutter {
 public:
  /// Pieces will be the bytes of `range`, in order. `layout` must outlive this.
  RecordCutter(const Layout& layout, ParticleRange range) : layout_(layout), rest_(range) {}

  /// The particles that have not been handed on yet.
  ParticleRange rest() const { return rest_; }

  /// Takes the next piece, of any length, and calls `use(const RecordRun&, span<const std::byte>)`
  /// for the whole records that it completes. The span is valid during the call.
  template <class Use>
  void feed(std::span<const std::byte> piece, const Use& use) {
    while (!piece.empty() && !rest_.empty()) {
      RecordRun run = layout_.next_run(rest_, piece.size());
      const std::uint64_t record_bytes = run.bytes.size / run.count;
      if (split_bytes_ > 0 || piece.size() < record_bytes) {
        piece = piece.subspan(complete(piece, record_bytes));
        if (split_bytes_ < record_bytes) return;
        split_bytes_ = 0;
        run = layout_.next_run(rest_, record_bytes);
        hand_on(run, std::span(split_).first(record_bytes), use);
      } else {
        hand_on(run, piece.first(run.bytes.size), use);
        piece = piece.subspan(run.bytes.size);
      }
    }
  }

 private:
  template <class Use>
  void hand_on(const RecordRun& run, std::span<const std::byte> records, const Use& use) {
    use(run, records);
    rest_.first += run.count;
  }

  /// Appends to the split record what is missing of it; returns how many bytes that took.
  std::size_t complete(std::span<const std::byte> piece, std::uint64_t record_bytes) {
    const std::size_t taken = std::min(piece.size(), record_bytes - split_bytes_);
    std::memcpy(split_.data() + split_bytes_, piece.data(), taken);
    split_bytes_ += taken;
    return taken;
  }

  const Layout& layout_;
  ParticleRange rest_;
  std::array<std::byte, kRecordBytesMax> split_{};
  std::size_t split_bytes_ = 0;  // of the record that began in an earlier piece
};

}  // namespace forebay::tipsy
