// SPDX-License-Identifier: Apache-2.0
#include "bench/read/rank_harness_instance.hpp"

#include "base/assert.hpp"
#include "comm/in_process.hpp"

namespace forebay::bench::read {

namespace {

RankHarness* installed_harness = nullptr;

RankHarness& single_rank_harness() {
  static const auto harness = RankHarness::create(comm::self_communicator(), 1);
  FOREBAY_ASSERT(harness.has_value());
  return **harness;
}

}  // namespace

RankHarness& rank_harness() {
  return installed_harness != nullptr ? *installed_harness : single_rank_harness();
}

void set_rank_harness(RankHarness* harness) { installed_harness = harness; }

}  // namespace forebay::bench::read
