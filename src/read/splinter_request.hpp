// SPDX-License-Identifier: Apache-2.0
// SplinterRequest: the bytes that a request needs of one splinter. RequestSequencer: numbers
// requests in the order in which they begin to wait, and records which of them found all memory
// pinned by views. So a failure recorded for an earlier request, perhaps dropped since, does not
// apply to a later one.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "read/geometry.hpp"
#include "read/load_scheduler.hpp"
#include "read/predicted_use.hpp"

namespace forebay::read {

struct SplinterRequest {
  SplinterIndex splinter = 0;
  SplinterPart part;
  LoadGranularity granularity = LoadGranularity::kSplinter;
  std::uint64_t sequence = 0;       ///< assigned by the session once the request waits; 0: none
  std::uint64_t use = kUseUnknown;  ///< of a push: number of the access that will use it
};

/// Guarded by the lock of its owner.
class RequestSequencer {
 public:
  /// Assigns the next number, unless `request` has one.
  void assign_sequence(SplinterRequest& request) noexcept {
    if (request.sequence == 0) request.sequence = ++last_;
  }
  /// The last number assigned; 0: none.
  std::uint64_t last_sequence() const noexcept { return last_; }

  /// Records that all memory was pinned while the requests for `splinter` with numbers up to `last`
  /// were waiting.
  void fail_for_memory(SplinterIndex splinter, std::uint64_t last) {
    failed_up_to_[splinter] = last;
  }
  /// True if `request` must be read as a private copy.
  bool has_failed_for_memory(const SplinterRequest& request) const {
    if (request.sequence == 0) return false;
    const auto found = failed_up_to_.find(request.splinter);
    return found != failed_up_to_.end() && request.sequence <= found->second;
  }

 private:
  std::uint64_t last_ = 0;
  // At most one entry for each splinter. Never erased, because requests may check late.
  std::unordered_map<SplinterIndex, std::uint64_t> failed_up_to_;
};

}  // namespace forebay::read
