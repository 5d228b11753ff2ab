// SPDX-License-Identifier: Apache-2.0
// Access to the communicator inside Ranks, for the library and its tests.
#pragma once

#include <forebay/ranks.hpp>

#include <memory>
#include <utility>

#include "comm/communicator.hpp"

namespace forebay::comm {

struct RanksAccess {
  static Ranks make(std::shared_ptr<Communicator> communicator) {
    return Ranks(std::move(communicator));
  }
  static const Result<std::shared_ptr<Communicator>>& communicator(const Ranks& ranks) noexcept {
    return ranks.communicator_;
  }
};

inline Ranks make_ranks(std::shared_ptr<Communicator> communicator) {
  return RanksAccess::make(std::move(communicator));
}

/// The communicator of `ranks`, or their Error. The reference is valid as long as `ranks`.
inline const Result<std::shared_ptr<Communicator>>& ranks_communicator(
    const Ranks& ranks) noexcept {
  return RanksAccess::communicator(ranks);
}

}  // namespace forebay::comm
