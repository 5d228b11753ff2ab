// SPDX-License-Identifier: Apache-2.0
// Chooses the backend that moves the bytes of a file, with the reasons against the others. It is
// the rule of make_backend() as a pure function, so that `doctor` prints it and a test compares
// both.
#pragma once

#include <forebay/access.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "storage/probe.hpp"

namespace forebay::storage {

/// Input of the rule.
struct BackendFacts {
  BackendChoice requested = BackendChoice::kAuto;  ///< for direct access; ignored for buffered
  Access access = Access::kDirect;
  bool is_ring_available = false;
  std::string ring_reason = {};  ///< as in BackendProbe
};

/// A backend that was not chosen.
struct RejectedBackend {
  std::string name;
  std::string reason;
};

/// Each `reason` is a few words, without the name and without a full stop.
struct BackendDecision {
  std::string chosen;  ///< empty: no backend is left, and reading is an Error
  std::string reason;
  std::vector<RejectedBackend> rejected;
};

BackendDecision choose_backend(const BackendFacts& facts);

}  // namespace forebay::storage
