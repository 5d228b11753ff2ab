// SPDX-License-Identifier: Apache-2.0
// The counterpart of Result::value() for a Status: both throw the Error, which the frame reports.
#pragma once

#include <forebay/error.hpp>

namespace forebay::bench {

inline void check(const Status& status) {
  if (!status) throw tl::bad_expected_access<Error>(status.error());
}

}  // namespace forebay::bench
