// SPDX-License-Identifier: Apache-2.0
// ServerLanes: which server of a striped file has a splinter, and how many loads are under way at
// each. Slices of whole rounds of stripes make all tasks want the same server at a time: what
// queues there must not take the turns of those that the other servers could answer meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "read/geometry.hpp"

namespace forebay::read {

class ServerLanes {
 public:
  /// Stripe k of the file lies on server k mod `servers`. Where `stripe_bytes` is 0, or a splinter
  /// lies on several servers, there is one lane for all.
  struct Striping {
    std::uint64_t stripe_bytes = 0;
    std::uint32_t servers = 1;
  };

  /// `loads_max` is for all servers together; each has its share of it.
  ServerLanes(const Geometry& geometry, const Striping& striping, std::uint32_t loads_max)
      : geometry_(geometry),
        stripe_bytes_(std::max(striping.stripe_bytes, geometry.splinter_bytes())),
        under_way_(tells_apart(geometry, striping) ? striping.servers : 1),
        each_max_((loads_max + count() - 1) / count()) {}

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(under_way_.size()); }
  std::uint32_t lane_of(SplinterIndex splinter) const noexcept {
    if (count() == 1) return 0;
    return static_cast<std::uint32_t>(geometry_.start_of(splinter) / stripe_bytes_ % count());
  }
  bool has_room(std::uint32_t lane) const noexcept { return under_way_[lane] < each_max_; }
  void begin_load(SplinterIndex splinter) noexcept { ++under_way_[lane_of(splinter)]; }
  void end_load(SplinterIndex splinter) noexcept { --under_way_[lane_of(splinter)]; }
  /// So many splinters in a row lie on all servers.
  std::uint32_t round_splinters() const noexcept {
    return static_cast<std::uint32_t>(count() * stripe_bytes_ / geometry_.splinter_bytes());
  }

 private:
  static bool tells_apart(const Geometry& geometry, const Striping& striping) noexcept {
    return striping.servers > 1 && striping.stripe_bytes >= geometry.splinter_bytes();
  }

  const Geometry& geometry_;
  const std::uint64_t stripe_bytes_;
  std::vector<std::uint32_t> under_way_;  // by lane
  const std::uint32_t each_max_;
};

}  // namespace forebay::read
