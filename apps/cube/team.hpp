// SPDX-License-Identifier: Apache-2.0
// The processes that write one profile together. A program of ranks brings its own kind; all others
// are alone, and nothing here needs to know of messages.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <vector>

namespace forebay::cube {

/// A team of one, unless it is derived from.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  virtual ~Team() = default;

  virtual std::uint32_t rank() const { return 0; }
  virtual std::uint32_t size() const { return 1; }
  /// Collective: comes back when all have called it, with the failure of the first rank that has
  /// one, on all ranks the same.
  virtual Status agree(const Status& mine) { return mine; }
  /// Collective: the numbers of all ranks, those of rank 0 first, on all ranks the same. Fails as
  /// agree() does.
  virtual Result<std::vector<std::uint64_t>> gather(Result<std::vector<std::uint64_t>> mine) {
    return mine;
  }
};

}  // namespace forebay::cube
