// SPDX-License-Identifier: Apache-2.0
// Where bodies find the ranks that their program was started with.
#pragma once

#include "bench/read/crew.hpp"

namespace forebay::bench::read {

/// This process alone, unless main() has more. Only on rank 0: bodies run nowhere else.
Crew& the_crew();
void set_the_crew(Crew* crew);

}  // namespace forebay::bench::read
