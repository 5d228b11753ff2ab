// SPDX-License-Identifier: Apache-2.0
// ReaderCount: how many clients of a session want each byte of it. Nobody says so; it shows in what
// comes back, and in what does not.
#pragma once

#include <cstdint>

namespace forebay::read {

class ReaderCount {
 public:
  /// At most so many; one to begin with.
  explicit ReaderCount(std::uint32_t limit) noexcept : limit_(limit) {}

  /// How many times a splinter is handed out before its memory is used for others.
  std::uint32_t value() const noexcept { return value_; }

  /// A splinter that was retired is wanted again.
  void came_back() noexcept {
    if (value_ < limit_ && ++returns_ >= kEvidence) set(value_ + 1);
  }
  /// A splinter that was handed out one time less than that had to go.
  void was_kept_in_vain() noexcept {
    if (value_ > 1 && ++in_vain_ >= kEvidence) set(value_ - 1);
  }

 private:
  static constexpr std::uint32_t kEvidence = 8;

  void set(std::uint32_t value) noexcept {
    value_ = value;
    returns_ = 0;
    in_vain_ = 0;
  }

  std::uint32_t limit_;
  std::uint32_t value_ = 1;
  std::uint32_t returns_ = 0;
  std::uint32_t in_vain_ = 0;
};

}  // namespace forebay::read
