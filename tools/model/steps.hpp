// SPDX-License-Identifier: Apache-2.0
// Time and memory of write plans for steps of a job on a machine, without writing anything: by
// formulas, flows or events.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/probe/messages.hpp"

namespace forebay::model_tool {

struct StepsQuery {
  nlohmann::json request;
  probe::ProgressSink progress = {};  ///< called after each plan
};

/// The request:
///
///     {"machine": name or file, "ranks": n, "nodes": n, "method": "formula"|"flow"|"event",
///      "bytes_per_rank": n | "steps": [[bytes of each rank]] | "kernel": a kernel's document,
///      "plans": [{keys of plan files}], "compute_s": seconds between steps}
///
/// `nodes` is chosen by the cores of a node if left out. An empty plan is the default of the
/// library. The result:
///
///     {"machine","ranks","nodes","method","bytes":[of each step],"plans":[{"plan":{...},"reason",
///      "memory_bytes","node_memory_bytes","steps":[{"opened_s","exchanged_s","written_s",
///      "durable_s","perceived_s"}],"total_s","drain_s"} | {"plan":{...},"error"}]}
///
/// memory_bytes is the bound of the rank with the most. node_memory_bytes adds the bytes that the
/// ranks of a node put. A plan that exceeds the memory of a node has an error. total_s and drain_s
/// are those of a program that computes `compute_s` before each step.
Result<nlohmann::json> describe_steps(const StepsQuery& query,
                                      const std::vector<std::filesystem::path>& directories);

}  // namespace forebay::model_tool
