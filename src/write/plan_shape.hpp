// SPDX-License-Identifier: Apache-2.0
// Strategy, writers and files: what is chosen together. By rules where no machine is known, by
// cost where one is.
#pragma once

#include <cstdint>
#include <string>

#include "write/plan.hpp"

namespace forebay::write {

struct Shape {
  Strategy strategy = Strategy::kAuto;
  std::uint32_t writers = 0;
  std::uint32_t files = 0;
  std::string reason = {};
};

/// The strategy that the other words of a plan name; kAuto if they name none.
Strategy implied_strategy(const WriteFacts& facts, const WritePlan& wanted);

/// What is chosen for a plan that check_shape() has passed.
Shape choose_shape(const WriteFacts& facts, const WritePlan& wanted);

}  // namespace forebay::write
