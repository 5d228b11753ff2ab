// SPDX-License-Identifier: Apache-2.0
// The teams of the test program without MPI.
#include "flow/testing.hpp"

namespace forebay::flow::testing {

void on_each_team(const std::function<void(Team&)>& work) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 5U})
    run_as_threads(ranks, work);
}

}  // namespace forebay::flow::testing
