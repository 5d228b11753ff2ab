// SPDX-License-Identifier: Apache-2.0
// The study of irregular output: the steps of a kernel, simulated on a machine with each number of
// aggregators, gathered at once or along a chain.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/probe/messages.hpp"

namespace forebay::study {

/// Whether files are created while the application computes, before the step begins.
enum class CreateMode : std::uint8_t { kInStep, kAhead };

struct StepsRequest {
  nlohmann::json kernel;               ///< for kernel::KernelPlan::parse()
  std::string machine;                 ///< name or file
  std::vector<std::uint32_t> targets;  ///< servers of a file; never empty
  CreateMode create_mode = CreateMode::kInStep;
  probe::ProgressSink progress = {};
};

/// {"machine","ranks","bytes":[step][rank],"cells":[{"strategy","aggregators","targets",
/// "create_ahead","opened_s":[step],"durable_s":[step],"memory_bytes","peer_memory_bytes"}]}.
/// memory_bytes is the plan's bound of an aggregator. peer_memory_bytes is what ADIOS 1.13 takes
/// in the largest step: the sum of a group if gathered, twice the largest block of a chain
/// otherwise. Each aggregator writes a file of its own.
Result<nlohmann::json> describe_steps(const StepsRequest& request,
                                      const std::vector<std::filesystem::path>& directories);

}  // namespace forebay::study
