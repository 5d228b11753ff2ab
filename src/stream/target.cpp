// SPDX-License-Identifier: Apache-2.0
#include "stream/target.hpp"

#include <algorithm>
#include <utility>

namespace forebay::stream {

std::optional<ByteRange> Space::needed(ByteRange range, std::uint64_t free_bytes) const noexcept {
  if (preallocation_ == Preallocation::kNone) return std::nullopt;
  if (end_ < expected_bytes_) return ByteRange{end_, expected_bytes_ - end_};
  if (preallocation_ == Preallocation::kExpected || range.end() <= end_) return std::nullopt;
  const std::uint64_t wished = std::clamp(end_, kSpaceStepBytesMin, kSpaceStepBytesMax);
  const std::uint64_t share = free_bytes / kSpaceStepPart / 1_MiB * 1_MiB;
  const std::uint64_t step = steps_ ? std::min(wished, share) : 0;
  const std::uint64_t end = std::max(range.end(), end_ + step);
  return ByteRange{end_, end - end_};
}

bool Space::ask_for_less(ByteRange range) noexcept {
  if (end_ < expected_bytes_) return false;
  if (steps_) {
    steps_ = false;
    return true;
  }
  if (range.offset <= end_) return false;
  give_up();  // there is a gap before it, which may never be written
  return true;
}

void Space::cut(std::uint64_t size_bytes) noexcept {
  end_ = std::min(end_, size_bytes);
  has_leftovers_ = false;
  expected_bytes_ = 0;  // who goes on after the end expects something else
}

Target::Target(Setup setup)
    : space(setup.preallocation, setup.size_bytes, setup.expected_bytes),
      is_dirty(setup.is_dirty),
      file_(std::move(setup.file)),
      exact_file_(std::move(setup.exact_file)),
      length_(setup.length),
      end_(setup.size_bytes) {}

Target::~Target() { static_cast<void>(cut()); }

void Target::note_write(ByteRange range) noexcept {
  end_ = std::max(end_, range.end());
  is_dirty = true;
}

Status Target::cut() {
  if (length_ == Length::kLeftAlone) return {};
  if (space.end_bytes() <= end_ && !space.has_leftovers()) return {};
  if (const Status shortened = shorten(end_); !shortened) return shortened;
  space.cut(end_);
  return {};
}

Status Target::cut_back() {
  if (!space.has_leftovers() || length_ == Length::kLeftAlone) return {};
  const Status shortened = shorten(std::max(end_, space.end_bytes()));
  if (shortened) space.cut_back();
  return shortened;
}

/// Leftovers may lie behind the end of the file, too, where truncating to the size that it has
/// already frees them.
Status Target::shorten(std::uint64_t size_bytes) {
  const auto size = file_->size();
  if (!size) return failure(size.error());
  // Longer than anything that was asked for here: another process has made it so.
  const bool is_others = *size > std::max(space.end_bytes(), end_);
  if ((*size <= size_bytes || is_others) && !space.has_leftovers()) return {};
  is_dirty = true;
  return file_->truncate(std::min(*size, size_bytes));
}

}  // namespace forebay::stream
