// SPDX-License-Identifier: Apache-2.0
// Need: what a request needs of one splinter. NumberedNeeds: which needs found all memory held by
// views. Needs are numbered in the order in which they begin to wait, so that an answer to an
// earlier one, perhaps dropped since, is no answer to a later one.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "read/geometry.hpp"
#include "read/schedule.hpp"

namespace forebay::read {

struct Need {
  SplinterIndex splinter = 0;
  ValidBytes part;
  Precision precision = Precision::kWhole;
  std::uint64_t number = 0;  ///< given by the session once the request waits for it
};

/// Under the lock of its owner.
class NumberedNeeds {
 public:
  /// Gives `need` the next number, if it has none.
  void number(Need& need) noexcept {
    if (need.number == 0) need.number = ++last_;
  }
  /// The number given last; 0: none.
  std::uint64_t last() const noexcept { return last_; }

  /// All memory was held while the needs of `splinter` up to number `last` were waiting.
  void starve(SplinterIndex splinter, std::uint64_t last) { starved_[splinter] = last; }
  /// Whether `need` is to be read privately.
  bool is_starved(const Need& need) const {
    if (need.number == 0) return false;
    const auto found = starved_.find(need.splinter);
    return found != starved_.end() && need.number <= found->second;
  }

 private:
  std::uint64_t last_ = 0;
  // Kept, as needs may look late: the table has more for each splinter.
  std::unordered_map<SplinterIndex, std::uint64_t> starved_;
};

}  // namespace forebay::read
