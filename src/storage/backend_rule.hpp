// SPDX-License-Identifier: Apache-2.0
// Which backend moves the bytes of a file, and why none of the others, in words: the rule that
// make_backend() follows, as a pure function, so that `doctor` can say it and a test compares both.
#pragma once

#include <forebay/access.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "storage/probe.hpp"

namespace forebay::storage {

/// The name of the backend that is asked for: "auto", "ring", "threads", "aio".
std::string_view name_of(BackendChoice choice) noexcept;

/// What the rule depends on.
struct BackendFacts {
  BackendChoice wanted = BackendChoice::kAuto;  ///< for direct access; the page cache has no choice
  Access access = Access::kDirect;
  bool ring_works = false;
  std::string ring_reason = {};  ///< as in BackendProbe
};

/// A backend that was not chosen.
struct PassedOver {
  std::string name;
  std::string reason;
};

/// `reason`s are a few words, without the name and without a full stop.
struct BackendDecision {
  std::string chosen;  ///< empty: none is left, and reading is an Error
  std::string reason;
  std::vector<PassedOver> others;
};

BackendDecision choose_backend(const BackendFacts& facts);

}  // namespace forebay::storage
