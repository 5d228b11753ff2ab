// SPDX-License-Identifier: Apache-2.0
// How many random cases run: a subset, or all if FOREBAY_TEST_ALL is 1. Cases are named by their
// seed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace forebay::faults {

inline bool is_exhaustive() {
  const char* const value = std::getenv("FOREBAY_TEST_ALL");
  return value != nullptr && std::string_view(value) == "1";
}

inline std::string seed_name(const testing::TestParamInfo<std::uint64_t>& info) {
  return "seed_" + std::to_string(info.param);
}

}  // namespace forebay::faults
