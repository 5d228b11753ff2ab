// SPDX-License-Identifier: Apache-2.0
// Where bodies find the ranks that their program was started with.
#pragma once

#include "bench/read/crew.hpp"

namespace forebay::bench::read {

/// Only on rank 0, and only while main() has them. Bodies run nowhere else.
Crew& the_crew();
void set_the_crew(Crew* crew);

}  // namespace forebay::bench::read
