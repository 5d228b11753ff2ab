// SPDX-License-Identifier: Apache-2.0
#include "bench/read/the_crew.hpp"

#include "base/assert.hpp"

namespace forebay::bench::read {

namespace {

Crew* known = nullptr;

}  // namespace

Crew& the_crew() {
  FOREBAY_ASSERT(known != nullptr);
  return *known;
}

void set_the_crew(Crew* crew) { known = crew; }

}  // namespace forebay::bench::read
