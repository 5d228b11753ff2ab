// SPDX-License-Identifier: Apache-2.0
// SplinterOwners: maps each byte of a session to the node whose agent reads it from storage, if the
// plan names such nodes. Pure arithmetic.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "comm/nodes.hpp"

namespace forebay::read {

/// Stripes of the *file* are assigned to the nodes round robin, so each node has a share of every
/// region. All nodes compute the same owners without messages.
class SplinterOwners {
 public:
  /// `nodes` is not empty; `stripe_bytes` is a power of two, at least one splinter.
  SplinterOwners(std::vector<std::uint32_t> nodes, std::uint64_t stripe_bytes)
      : nodes_(std::move(nodes)), stripe_bytes_(stripe_bytes) {}

  comm::Node owner_of(std::uint64_t file_offset) const {
    return {nodes_[file_offset / stripe_bytes_ % nodes_.size()]};
  }
  const std::vector<std::uint32_t>& nodes() const noexcept { return nodes_; }

 private:
  std::vector<std::uint32_t> nodes_;
  std::uint64_t stripe_bytes_;
};

}  // namespace forebay::read
