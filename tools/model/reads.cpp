// SPDX-License-Identifier: Apache-2.0
#include "tools/model/reads.hpp"

#include <algorithm>

#include "model/read_cost.hpp"
#include "model/transfer_advice.hpp"
#include "tools/model/request.hpp"

namespace forebay::model_tool {

namespace {

using model::ReadMethod;
using nlohmann::json;

/// Memory for bytes in flight of an agent whose plan is chosen.
constexpr std::uint64_t kWindowBytes = 256_MiB;

/// An agent on each node, with the requests that keep all servers busy together.
json complete_session(const json& plan, const model::Machine& machine, const model::ReadJob& job) {
  json complete = plan;
  if (!complete.contains("agents")) complete["agents"] = job.nodes;
  const auto agents = complete["agents"].get<std::uint32_t>();
  const auto advice =
      advise_reading(machine, layout_of_new_file(machine, 0), job.bytes, kWindowBytes);
  const std::uint32_t depth = std::max(1U, (advice.requests + agents - 1) / agents);
  if (!complete.contains("request_bytes")) complete["request_bytes"] = advice.request_bytes;
  if (!complete.contains("queue_depth")) complete["queue_depth"] = depth;
  if (!complete.contains("splinter_bytes")) complete["splinter_bytes"] = 256_KiB;
  return complete;
}

model::ReadShape shape_of(const json& plan) {
  const std::string method = plan.at("method").get<std::string>();
  if (method == "per-call") return {.method = ReadMethod::kPerCall};
  if (method == "shared") return {.method = ReadMethod::kShared};
  return {
      .agents = std::max(1U, plan.at("agents").get<std::uint32_t>()),
      .splinter_bytes = plan.at("splinter_bytes").get<std::uint64_t>(),
      .request_bytes = std::max<std::uint64_t>(1, plan.at("request_bytes").get<std::uint64_t>()),
      .queue_depth = std::max(1U, plan.at("queue_depth").get<std::uint32_t>())};
}

json describe_plan(const json& requested,
                   const model::Machine& machine,
                   model::ReadJob job,
                   const std::vector<std::uint64_t>& task_counts) {
  const bool is_session = requested.at("method") == "session";
  const json plan = is_session ? complete_session(requested, machine, job) : requested;
  json times = json::array();
  std::uint64_t memory_bytes = 0;
  for (const std::uint64_t tasks : task_counts) {
    job.tasks = std::max<std::uint64_t>(1, tasks);
    const model::ReadCost cost = read_cost(machine, job, shape_of(plan));
    memory_bytes = std::max(memory_bytes, cost.memory_bytes);
    times.push_back({{"tasks", tasks},
                     {"open_s", cost.open_us / kUsPerS},
                     {"read_s", cost.read_us / kUsPerS},
                     {"deliver_s", cost.deliver_us / kUsPerS},
                     {"total_s", cost.total_us / kUsPerS}});
  }
  return {{"plan", plan}, {"memory_bytes", memory_bytes}, {"times", std::move(times)}};
}

Result<json> describe(const json& request, const std::vector<std::filesystem::path>& directories) {
  const auto machine = model::load_machine(request.at("machine").get<std::string>(), directories);
  if (!machine) return failure(machine.error());
  model::ReadJob job{.bytes = request.at("bytes").get<std::uint64_t>(),
                     .ranks = value_of<std::uint32_t>(request, "ranks", 1)};
  job.nodes = value_of<std::uint32_t>(request, "nodes", 0);
  job.task_us = value_of<double>(request, "task_us", job.task_us);
  if (job.ranks == 0 || job.bytes == 0)
    return failure(invalid_request("ranks and bytes must be at least 1"));
  if (job.nodes == 0) job.nodes = (job.ranks - 1) / machine->client.cores + 1;
  job.nodes = std::min(job.nodes, job.ranks);
  const auto tasks = request.at("tasks").get<std::vector<std::uint64_t>>();
  json plans = json::array();
  for (const json& plan : request.at("plans"))
    plans.push_back(describe_plan(plan, *machine, job, tasks));
  return json{{"machine", machine->name}, {"plans", std::move(plans)}};
}

}  // namespace

Result<json> describe_reads(const json& request,
                            const std::vector<std::filesystem::path>& directories) {
  try {
    return describe(request, directories);
  } catch (const json::exception& error) {
    return failure(invalid_request(error.what()));
  }
}

}  // namespace forebay::model_tool
