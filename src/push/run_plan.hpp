// SPDX-License-Identifier: Apache-2.0
// RunPlan: a sequence of runs that repeats, where each number of a run changes linearly from one
// repetition to the next, and a position in it. It enumerates the accesses to come in constant time
// each, across runs and repetitions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "push/run_history.hpp"

namespace forebay::push {

/// Position of an access in a RunPlan. A copy looks ahead.
struct RunCursor {
  Run run;
  std::uint64_t index = 0;       ///< in `run`
  std::size_t item = 0;          ///< of the sequence, after `run`
  std::uint64_t repetition = 0;  ///< of that item
  std::uint64_t shift = 0;       ///< added to all offsets
  bool is_done = true;           ///< no access follows

  std::uint64_t offset() const noexcept { return run.offset_at(index); }
  std::uint64_t size() const noexcept { return run.size_at(index); }
  bool is_at(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return !is_done && run.is_at(index, offset, bytes);
  }
};

class RunPlan {
 public:
  /// Continues `run` without end.
  void follow(const Run& run) noexcept;
  /// Repeats the newest period.length runs of `history`, of which the newest has just begun.
  void repeat(const RunHistory& history, const Period& period) noexcept;

  const RunCursor& next() const noexcept { return cursor_; }
  void advance(RunCursor& cursor) const noexcept;
  void advance() noexcept { advance(cursor_); }

  /// If the run after the current one begins with this access, moves behind that access.
  bool skip_to(std::uint64_t offset, std::uint64_t size) noexcept;
  /// If a run is next whose first access has this size, moves this run and those that follow to
  /// `offset`, and moves behind that access.
  bool shift_to(std::uint64_t offset, std::uint64_t size) noexcept;

 private:
  /// In repetition r, `run` + r * `step`.
  struct Item {
    Run run;
    Run step;
  };

  void enter_run(RunCursor& cursor) const noexcept;

  std::array<Item, RunHistory::kPeriodMax> items_ = {};
  std::size_t length_ = 0;
  RunCursor cursor_;
};

}  // namespace forebay::push
