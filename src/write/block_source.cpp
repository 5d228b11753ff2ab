// SPDX-License-Identifier: Apache-2.0
#include "write/block_source.hpp"

#include "write/hashed_copy.hpp"

namespace forebay::write {

namespace {

/// Shorter runs are copied by format::copy_grid() and hashed afterwards, from the cache: a call for
/// each run would cost more than its bytes.
constexpr std::uint64_t kLongRunBytesMin = 512;

}  // namespace

BlockSource::BlockSource(std::span<const std::byte> memory, const format::BoxCopy& box)
    : memory_(memory), size_bytes_(box.bytes()) {
  if (box.is_one_run())
    memory_ = memory.subspan(box.memory_offset(), size_bytes_);
  else
    box_ = box;
}

bool BlockSource::has_short_runs() const noexcept {
  return box_ && box_->run_bytes() < kLongRunBytesMin;
}

void BlockSource::copy(ByteRange range, std::span<std::byte> to) const {
  if (!box_) return copy_nontemporal(to, memory_.subspan(range.offset, range.size));
  if (has_short_runs()) return box_->to_block(range, to.data(), memory_.data());
  box_->for_each(range, [&](const format::CopyRun& run) {
    copy_unordered(to.subspan(run.block_offset - range.offset, run.bytes),
                   memory_.subspan(run.memory_offset, run.bytes));
  });
  order_copies();
}

std::uint64_t BlockSource::hashed_copy(ByteRange range,
                                       std::span<std::byte> to,
                                       std::uint64_t seed) const {
  if (!box_) return write::hashed_copy(to, memory_.subspan(range.offset, range.size), seed);
  if (has_short_runs()) {
    copy(range, to);
    return hash_of(to, seed);
  }
  HashedCopy& copy = hashed_copy_of_thread(seed);
  box_->for_each(range, [&](const format::CopyRun& run) {
    copy.add(to.subspan(run.block_offset - range.offset, run.bytes),
             memory_.subspan(run.memory_offset, run.bytes));
  });
  return copy.digest();
}

}  // namespace forebay::write
