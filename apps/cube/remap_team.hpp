// SPDX-License-Identifier: Apache-2.0
// The processes that write one profile together. A program of ranks brings its own kind; all others
// are alone, and nothing here needs to know of messages.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

namespace forebay::cube {

/// A team of one, unless it is derived from.
class RemapTeam {
 public:
  RemapTeam() = default;
  RemapTeam(const RemapTeam&) = delete;
  RemapTeam& operator=(const RemapTeam&) = delete;
  virtual ~RemapTeam() = default;

  virtual std::uint32_t rank() const { return 0; }
  virtual std::uint32_t size() const { return 1; }
  /// Collective: comes back when all have called it, with the failure of the first rank that has
  /// one, on all ranks the same.
  virtual Status agree(const Status& mine) { return mine; }
};

}  // namespace forebay::cube
