// SPDX-License-Identifier: Apache-2.0
// Time and memory of reading a file by many tasks on a machine, by formulas.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace forebay::model_tool {

/// The request:
///
///     {"machine": name or file, "ranks": n, "nodes": n, "bytes": n, "tasks": [n, ...],
///      "task_us": cost of a task's request,
///      "plans": [{"method": "session", "agents", "splinter_bytes", "request_bytes", "queue_depth"}
///                | {"method": "per-call"|"shared"}]}
///
/// Values of a session that are left out are chosen as the library does. The result:
///
///     {"machine","plans":[{"plan","memory_bytes","times":[{"tasks","open_s","read_s","deliver_s",
///      "total_s"}]}]}
Result<nlohmann::json> describe_reads(const nlohmann::json& request,
                                      const std::vector<std::filesystem::path>& directories);

}  // namespace forebay::model_tool
