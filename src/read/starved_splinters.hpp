// SPDX-License-Identifier: Apache-2.0
// StarvedSplinters: splinters for which the reading side found all memory held, and how many
// requests are to read each of them privately. A request may be dropped before it finds out, and
// the news may come after it has ended: so where a slot is free by then, the next request asks
// again. It does so a few times at most, as views may come and go faster than the reading side
// looks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "read/geometry.hpp"
#include "shm/session_books.hpp"

namespace forebay::read {

/// Under the lock of its owner.
class StarvedSplinters {
 public:
  void set(SplinterIndex splinter, std::size_t requests) { starved_[splinter].requests = requests; }

  /// Whether the next request for it is to read privately.
  bool contains(SplinterIndex splinter, const shm::SessionBooks& books) {
    const auto found = starved_.find(splinter);
    if (found == starved_.end() || found->second.requests == 0) return false;
    if (found->second.doubts >= kDoubtsMax || all_held(books)) return true;
    found->second.requests = 0;
    ++found->second.doubts;
    return false;
  }
  /// The same; one request less is to find out then.
  bool take(SplinterIndex splinter, const shm::SessionBooks& books) {
    if (!contains(splinter, books)) return false;
    const auto found = starved_.find(splinter);
    if (--found->second.requests == 0) starved_.erase(found);
    return true;
  }

 private:
  /// An assumed bound on late answers; counted per splinter until one is taken.
  static constexpr int kDoubtsMax = 16;

  struct Starved {
    std::size_t requests = 0;
    int doubts = 0;
  };

  static bool all_held(const shm::SessionBooks& books) {
    const std::uint32_t slots = books.header().slots.load(std::memory_order_acquire);
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      if (books.ledger().pins(slot) == 0) return false;
    }
    return true;
  }

  std::unordered_map<SplinterIndex, Starved> starved_;
};

}  // namespace forebay::read
