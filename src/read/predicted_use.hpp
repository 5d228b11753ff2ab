// SPDX-License-Identifier: Apache-2.0
// PredictedUse: the access that will use a splinter. ClientPositions: how far each client of a
// session is, so that uses by different clients can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::read {

/// Each client numbers its accesses in order. This number means that no use is predicted.
inline constexpr std::uint64_t kUseUnknown = UINT64_MAX;

struct PredictedUse {
  std::uint64_t access = kUseUnknown;
  std::uint32_t client = 0;
};

class ClientPositions {
 public:
  /// The number of the client's next access.
  void set(std::uint32_t client, std::uint64_t position) {
    if (client >= positions_.size()) positions_.resize(std::size_t{client} + 1);
    positions_[client] = position;
  }
  /// Accesses of its client until the use; kUseUnknown also if it has passed.
  std::uint64_t distance(const PredictedUse& use) const noexcept {
    const std::uint64_t position = use.client < positions_.size() ? positions_[use.client] : 0;
    return use.access == kUseUnknown || use.access < position ? kUseUnknown : use.access - position;
  }

 private:
  std::vector<std::uint64_t> positions_;
};

/// The nearest and the farthest of the predicted uses of a splinter.
class PredictedUses {
 public:
  void add(const PredictedUse& use, const ClientPositions& positions) noexcept {
    if (positions.distance(use) < positions.distance(nearest_)) nearest_ = use;
    const std::uint64_t farthest = positions.distance(farthest_);
    if (farthest == kUseUnknown || positions.distance(use) > farthest) farthest_ = use;
  }
  /// True if there is one by this client, perhaps in the past.
  bool includes(std::uint32_t client) const noexcept {
    return is_by(nearest_, client) || is_by(farthest_, client);
  }
  bool empty() const noexcept {
    return nearest_.access == kUseUnknown && farthest_.access == kUseUnknown;
  }
  void remove(std::uint32_t client) noexcept {
    if (is_by(nearest_, client)) nearest_ = {};
    if (is_by(farthest_, client)) farthest_ = {};
  }
  /// Once the nearest has passed, the farthest: other clients may follow.
  std::uint64_t distance(const ClientPositions& positions) const noexcept {
    const std::uint64_t nearest = positions.distance(nearest_);
    return nearest != kUseUnknown ? nearest : positions.distance(farthest_);
  }

 private:
  static bool is_by(const PredictedUse& use, std::uint32_t client) noexcept {
    return use.access != kUseUnknown && use.client == client;
  }

  PredictedUse nearest_;
  PredictedUse farthest_;
};

}  // namespace forebay::read
