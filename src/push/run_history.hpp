// SPDX-License-Identifier: Apache-2.0
// RunHistory: splits a stream of accesses into runs with constant differences, and finds the period
// after which the runs repeat. The idea is that of nested loop recognition (Ketterlin and Clauss,
// CGO'08), with a bounded history instead of a tree of loops.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace forebay::push {

/// Access q of `count` has the offset start + q * stride and the size size + q * size_step. All
/// arithmetic is modulo 2^64, so negative differences are large numbers.
struct Run {
  std::uint64_t start = 0;
  std::uint64_t stride = 0;
  std::uint64_t size = 0;
  std::uint64_t size_step = 0;
  std::uint64_t count = 0;

  std::uint64_t offset_at(std::uint64_t index) const noexcept { return start + index * stride; }
  std::uint64_t size_at(std::uint64_t index) const noexcept { return size + index * size_step; }
  bool is_at(std::uint64_t index, std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return offset_at(index) == offset && size_at(index) == bytes;
  }

  friend bool operator==(const Run&, const Run&) = default;
  friend Run operator+(const Run& a, const Run& b) noexcept {
    return {a.start + b.start, a.stride + b.stride, a.size + b.size, a.size_step + b.size_step,
            a.count + b.count};
  }
  friend Run operator-(const Run& a, const Run& b) noexcept { return a + b * ~std::uint64_t{0}; }
  friend Run operator*(const Run& a, std::uint64_t factor) noexcept {
    return {a.start * factor, a.stride * factor, a.size * factor, a.size_step * factor,
            a.count * factor};
  }
};

/// Number of runs after which the runs repeat, with other numbers.
struct Period {
  std::size_t length = 0;      ///< 0: none
  std::uint32_t evidence = 0;  ///< accesses and runs that confirm it, at most kEvidenceMax
  bool is_linear = false;      ///< the newest run changed by the same difference as the one before
};

class RunHistory {
 public:
  static constexpr std::size_t kPeriodMax = 32;
  static constexpr std::uint32_t kEvidenceMax = 8;

  /// Adds an access. Returns whether it continues the newest run; otherwise it begins a run. Three
  /// accesses with constant differences are a run, others are runs of one access.
  bool append(std::uint64_t offset, std::uint64_t size) noexcept;

  /// Number of runs that are kept.
  std::size_t size() const noexcept { return size_; }
  /// The newest run has age 0, and may grow. `age` must be less than size().
  const Run& back(std::size_t age) const noexcept { return runs_[size_ - 1 - age]; }

  /// The period with most evidence, the shortest of several. Call it when a run has begun.
  Period find_period() const noexcept;

 private:
  static constexpr std::size_t kRunsMin = std::size_t{3} * kPeriodMax;

  bool extend(std::uint64_t offset, std::uint64_t size) noexcept;
  /// Whether period_of() would find evidence by the starts of runs: a fast test.
  bool may_repeat(std::size_t length) const noexcept;
  Period period_of(std::size_t length) const noexcept;
  bool is_linear(std::size_t age, std::size_t length) const noexcept;

  /// The newest size_ runs; once full, the older half is dropped.
  std::array<Run, 2 * kRunsMin> runs_ = {};
  std::size_t size_ = 0;
};

}  // namespace forebay::push
