// SPDX-License-Identifier: Apache-2.0
#include "bench/read/the_crew.hpp"

#include "base/assert.hpp"
#include "comm/in_process.hpp"

namespace forebay::bench::read {

namespace {

Crew* known = nullptr;

Crew& this_process() {
  static const auto alone = Crew::muster(comm::solo(), 1);
  FOREBAY_ASSERT(alone.has_value());
  return **alone;
}

}  // namespace

Crew& the_crew() { return known != nullptr ? *known : this_process(); }

void set_the_crew(Crew* crew) { known = crew; }

}  // namespace forebay::bench::read
