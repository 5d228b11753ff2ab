// SPDX-License-Identifier: Apache-2.0
// What tests of a Runtime with ranks share. For tests only.
#pragma once

#include <forebay/runtime.hpp>

#include "comm/testing.hpp"

namespace forebay {

/// What a Runtime of several ranks must do, whoever makes them.
class RanksSuite : public comm::MakeTest {
 public:
  using comm::MakeTest::on_all_ranks;
};

}  // namespace forebay
