// SPDX-License-Identifier: Apache-2.0
// FlowSimulator: steps of up to a million ranks as flows. Each writer is a flow of bytes that
// shares links, I/O nodes, files and servers with the other flows, so bytes that differ between
// ranks have their effect. Between simulate_step(), which simulates each request, and step_cost(),
// which has totals alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "write/cost.hpp"
#include "write/plan.hpp"

namespace forebay::write {

/// Not thread-safe.
class FlowSimulator {
 public:
  /// `plan` must be complete; `facts` must have a machine. Both must outlive this object.
  FlowSimulator(const WriteFacts& facts, const WritePlan& plan);
  ~FlowSimulator();

  /// The cost of a step with these bytes of each compute rank. Takes time in proportion to the
  /// ranks: about 0.1 s for 300,000 of them.
  ///
  /// Rates change when flows begin or end. If many do, several are handled together, which shifts
  /// an end by less than 3 % of the step.
  StepCost run(std::span<const std::uint64_t> bytes_of_rank);

 private:
  class Job;
  std::unique_ptr<Job> job_;
};

}  // namespace forebay::write
