// SPDX-License-Identifier: Apache-2.0
// ServerLoadLimiter: maps splinters to servers of a striped file, and counts loads in flight at
// each. If the slice of each task is a multiple of a full stripe, all tasks need the same server
// at a time.
// Requests queued for that server must not delay those that other servers could serve meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "read/geometry.hpp"

namespace forebay::read {

class ServerLoadLimiter {
 public:
  /// Stripe k of the file lies on server k mod `servers`. If `stripe_bytes` is 0, or a splinter
  /// spans several servers, all servers count as one.
  struct Striping {
    std::uint64_t stripe_bytes = 0;
    std::uint32_t servers = 1;
  };

  /// `loads_max` is the bound for all servers together; each gets an equal share.
  ServerLoadLimiter(const Geometry& geometry, const Striping& striping, std::uint32_t loads_max)
      : geometry_(geometry),
        stripe_bytes_(std::max(striping.stripe_bytes, geometry.splinter_bytes())),
        in_flight_(can_map_servers(geometry, striping) ? striping.servers : 1),
        per_server_max_((loads_max + count() - 1) / count()) {}

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(in_flight_.size()); }
  std::uint32_t server_of(SplinterIndex splinter) const noexcept {
    if (count() == 1) return 0;
    return static_cast<std::uint32_t>(geometry_.start_of(splinter) / stripe_bytes_ % count());
  }
  bool has_room(std::uint32_t server) const noexcept {
    return in_flight_[server] < per_server_max_;
  }
  void count_load_begin(SplinterIndex splinter) noexcept { ++in_flight_[server_of(splinter)]; }
  void count_load_end(SplinterIndex splinter) noexcept { --in_flight_[server_of(splinter)]; }
  /// Number of consecutive splinters in one full stripe: a stripe of each server.
  std::uint32_t full_stripe_splinters() const noexcept {
    return static_cast<std::uint32_t>(count() * stripe_bytes_ / geometry_.splinter_bytes());
  }

 private:
  static bool can_map_servers(const Geometry& geometry, const Striping& striping) noexcept {
    return striping.servers > 1 && striping.stripe_bytes >= geometry.splinter_bytes();
  }

  const Geometry& geometry_;
  const std::uint64_t stripe_bytes_;
  std::vector<std::uint32_t> in_flight_;  // by server
  const std::uint32_t per_server_max_;
};

}  // namespace forebay::read
