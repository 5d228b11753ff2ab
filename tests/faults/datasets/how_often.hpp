// SPDX-License-Identifier: Apache-2.0
// How much of what chance decides is tried: a subset each time, all of it where FOREBAY_TEST_ALL
// is 1.
#pragma once

#include <cstdlib>
#include <string_view>

namespace forebay::faults {

inline bool tries_all() {
  const char* const value = std::getenv("FOREBAY_TEST_ALL");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace forebay::faults
