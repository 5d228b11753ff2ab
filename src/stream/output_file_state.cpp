// SPDX-License-Identifier: Apache-2.0
#include "stream/output_file_state.hpp"

#include <algorithm>
#include <utility>

namespace forebay::stream {

std::optional<ByteRange> SpaceReservation::next_reservation(
    ByteRange range, std::uint64_t free_bytes) const noexcept {
  if (preallocation_ == Preallocation::kNone) return std::nullopt;
  if (end_ < expected_bytes_) return ByteRange{end_, expected_bytes_ - end_};
  if (preallocation_ == Preallocation::kExpected || range.end() <= end_) return std::nullopt;
  const std::uint64_t step_bytes_max = std::clamp(end_, kSpaceStepBytesMin, kSpaceStepBytesMax);
  const std::uint64_t share = free_bytes / kSpaceStepDivisor / 1_MiB * 1_MiB;
  const std::uint64_t step = has_growth_steps_ ? std::min(step_bytes_max, share) : 0;
  const std::uint64_t end = std::max(range.end(), end_ + step);
  return ByteRange{end_, end - end_};
}

bool SpaceReservation::try_smaller(ByteRange range) noexcept {
  if (end_ < expected_bytes_) return false;
  if (has_growth_steps_) {
    has_growth_steps_ = false;
    return true;
  }
  if (range.offset <= end_) return false;
  disable();  // a gap precedes it, which may never be written
  return true;
}

void SpaceReservation::truncate(std::uint64_t size_bytes) noexcept {
  end_ = std::min(end_, size_bytes);
  has_excess_ = false;
  expected_bytes_ = 0;  // the expectation does not apply to later writes
}

OutputFileState::OutputFileState(Setup setup)
    : reservation(setup.preallocation, setup.size_bytes, setup.expected_bytes),
      is_dirty(setup.is_dirty),
      on_written(std::move(setup.on_written)),
      file_(std::move(setup.file)),
      unaligned_file_(std::move(setup.unaligned_file)),
      size_policy_(setup.size_policy),
      end_(setup.size_bytes) {}

OutputFileState::~OutputFileState() { static_cast<void>(set_final_size()); }

void OutputFileState::note_write(ByteRange range) noexcept {
  end_ = std::max(end_, range.end());
  is_dirty = true;
}

Status OutputFileState::set_final_size() {
  if (size_policy_ == SizePolicy::kNeverTruncate) return {};
  if (reservation.end_bytes() <= end_ && !reservation.has_excess()) return {};
  if (const Status shortened = truncate_file(end_); !shortened) return shortened;
  reservation.truncate(end_);
  return {};
}

Status OutputFileState::trim_reservation() {
  if (!reservation.has_excess() || size_policy_ == SizePolicy::kNeverTruncate) return {};
  const Status shortened = truncate_file(std::max(end_, reservation.end_bytes()));
  if (shortened) reservation.clear_excess();
  return shortened;
}

/// Excess may also lie beyond the end of the file; truncating to the current size frees it.
Status OutputFileState::truncate_file(std::uint64_t size_bytes) {
  const auto size = file_->size();
  if (!size) return failure(size.error());
  // Longer than any request here: another process has extended it.
  const bool is_foreign_size = *size > std::max(reservation.end_bytes(), end_);
  if ((*size <= size_bytes || is_foreign_size) && !reservation.has_excess()) return {};
  is_dirty = true;
  return file_->truncate(std::min(*size, size_bytes));
}

}  // namespace forebay::stream
