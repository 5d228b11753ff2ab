// SPDX-License-Identifier: Apache-2.0
#include "tools/model/steps.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <optional>

#include "model/machine.hpp"
#include "tools/kernel/kernel_plan.hpp"
#include "tools/kernel/step_bytes.hpp"
#include "tools/model/request.hpp"
#include "write/flow_simulation.hpp"
#include "write/simulated_step.hpp"

namespace forebay::model_tool {

namespace {

using kernel::StepBytes;
using nlohmann::json;

constexpr std::uint32_t kRanksMax = 1'048'576;
/// Events take a microsecond for each request.
constexpr std::uint32_t kEventRanksMax = 1024;

enum class Method : std::uint8_t { kFormula, kFlow, kEvent };

struct Job {
  model::Machine machine;
  write::WriteFacts facts;  ///< of the average rank
  StepBytes steps;
  Method method = Method::kFormula;
  double compute_s = 0;
};

json time_json(const write::StepCost& cost) {
  return {{"opened_s", cost.metadata_us / kUsPerS},
          {"exchanged_s", cost.exchange_us / kUsPerS},
          {"written_s", cost.written_us / kUsPerS},
          {"durable_s", cost.durable_us() / kUsPerS},
          {"perceived_s", cost.perceived_us / kUsPerS}};
}

double seconds_of(model::Time time) { return std::chrono::duration<double>(time).count(); }

json time_json(const write::SimulatedStep& step, const write::StepCost& cost) {
  return {{"opened_s", seconds_of(step.files_opened)},
          {"exchanged_s", seconds_of(step.exchanged)},
          {"written_s", seconds_of(step.written)},
          {"durable_s", seconds_of(step.durable)},
          {"perceived_s", cost.perceived_us / kUsPerS}};
}

/// The plan keys of a request, which are those of a plan file.
Result<WritePlan> requested_plan(const json& keys) {
  std::string text;
  for (const auto& [key, value] : keys.items())
    text += key + " = " + value.dump() + "\n";
  return parse_write_plan(text, "plans of the request");
}

json plan_json(const WritePlan& plan) {
  json result = {{"strategy", name_of(plan.strategy)},
                 {"writers", plan.writers},
                 {"files", plan.files},
                 {"memory_bytes", plan.memory_bytes},
                 {"unit_bytes", plan.tuning.unit_bytes},
                 {"alignment_bytes", plan.tuning.alignment_bytes}};
  if (plan.tuning.exchange) result["exchange"] = name_of(*plan.tuning.exchange);
  if (plan.tuning.transfer_mode) result["transfer_mode"] = name_of(*plan.tuning.transfer_mode);
  return result;
}

/// The times of each step with one method.
json step_times(Job& job, const WritePlan& plan) {
  json times = json::array();
  std::optional<write::FlowSimulator> flows;
  if (job.method == Method::kFlow) flows.emplace(job.facts, plan);
  for (const auto& bytes : job.steps) {
    job.facts.step_bytes = bytes;
    const write::StepCost cost = flows ? flows->run(bytes) : step_cost(job.facts, plan);
    times.push_back(job.method == Method::kEvent ? time_json(simulate_step(job.facts, plan), cost)
                                                 : time_json(cost));
  }
  return times;
}

/// A program that computes before each step, and begins a step only while few are unresolved.
void add_run(const Job& job, const WritePlan& plan, json& result) {
  double now = 0;
  std::vector<double> durable;
  for (const json& step : result["steps"]) {
    now += job.compute_s;
    if (durable.size() >= plan.steps_in_flight)
      now = std::max(now, durable[durable.size() - plan.steps_in_flight]);
    const double begin = durable.empty() ? now : std::max(now, durable.back());
    durable.push_back(begin + step["durable_s"].get<double>());
    now += step["perceived_s"].get<double>();
  }
  const double end = durable.empty() ? now : std::max(now, durable.back());
  result["total_s"] = end;
  result["drain_s"] = end - now;
}

/// An Error if the ranks of a node, their bytes and their staging memory do not fit.
Status check_memory(const Job& job, const WritePlan& plan, json& result) {
  const write::StepTotals totals = totals_of(job.facts);
  const double of_rank = totals.rank_bytes_max + static_cast<double>(plan.memory_bytes);
  const double of_node = totals.ranks_of_node_max * of_rank;
  result["memory_bytes"] = plan.memory_bytes;
  result["node_memory_bytes"] = of_node;
  const auto available = static_cast<double>(job.machine.client.memory_bytes);
  if (available == 0 || of_node <= available) return {};
  const auto mebibytes = [](double bytes) {
    return std::to_string(static_cast<std::uint64_t>(bytes / (1 << 20))) + " MiB";
  };
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "plan on",
                  .path = job.machine.name,
                  .cause = "a node needs " + mebibytes(of_node) + " and has " +
                           mebibytes(available) +
                           "; use fewer ranks on each node, or a smaller memory_bytes"});
}

Result<json> describe_plan(Job& job, const WritePlan& requested) {
  job.facts.step_bytes = job.steps.front();
  auto plan = plan_write(job.facts, requested);
  if (!plan) return failure(plan.error());
  json result = {{"plan", plan_json(*plan)}, {"reason", plan->reason}};
  if (const Status fits = check_memory(job, *plan, result); !fits) return failure(fits.error());
  result["steps"] = step_times(job, *plan);
  add_run(job, *plan, result);
  return result;
}

Result<Method> method_of(const std::string& name) {
  if (name == "formula") return Method::kFormula;
  if (name == "flow") return Method::kFlow;
  if (name == "event") return Method::kEvent;
  return failure(
      invalid_request("method is \"" + name + "\": write \"formula\", \"flow\" or \"event\""));
}

/// Bytes by step and rank. With equal ranks one step has one number, unless the method needs all.
Result<StepBytes> steps_of(const json& request, std::uint32_t ranks) {
  if (const auto kernel = request.find("kernel"); kernel != request.end()) {
    const auto plan = kernel::KernelPlan::parse(*kernel);
    if (!plan) return failure(plan.error());
    return kernel::step_bytes(plan->kernel());
  }
  if (const auto steps = request.find("steps"); steps != request.end())
    return steps->get<StepBytes>();
  const auto each = value_of<std::uint64_t>(request, "bytes_per_rank", 0);
  if (each == 0)
    return failure(invalid_request("there are no bytes: add bytes_per_rank, steps or kernel"));
  return StepBytes{std::vector<std::uint64_t>(ranks, each)};
}

Status check_job(const Job& job, std::uint32_t ranks) {
  if (ranks == 0 || ranks > kRanksMax)
    return failure(invalid_request("ranks must be 1 … " + std::to_string(kRanksMax)));
  if (job.method == Method::kEvent && ranks > kEventRanksMax)
    return failure(
        invalid_request("events are simulated for at most 1024 ranks: choose the method \"flow\""));
  const auto is_short = [ranks](const auto& step) { return step.size() != ranks; };
  if (job.steps.empty() || std::ranges::any_of(job.steps, is_short))
    return failure(invalid_request("each step needs the bytes of all ranks"));
  return {};
}

Result<Job> job_of(const json& request, const std::vector<std::filesystem::path>& directories) {
  const auto machine = model::load_machine(request.at("machine").get<std::string>(), directories);
  if (!machine) return failure(machine.error());
  const auto method = method_of(value_of<std::string>(request, "method", "formula"));
  if (!method) return failure(method.error());
  auto ranks = value_of<std::uint32_t>(request, "ranks", 0);
  auto steps = steps_of(request, ranks);
  if (!steps) return failure(steps.error());
  if (ranks == 0 && !steps->empty()) ranks = static_cast<std::uint32_t>(steps->front().size());
  Job job{.machine = *machine, .steps = std::move(*steps), .method = *method};
  job.compute_s = value_of<double>(request, "compute_s", 0);
  if (const Status good = check_job(job, ranks); !good) return failure(good.error());
  const std::uint32_t cores = machine->client.cores;
  const std::uint32_t by_cores =
      cores == 1 ? std::min(machine->client.count, ranks) : (ranks - 1) / cores + 1;
  const auto requested = value_of<std::uint32_t>(request, "nodes", 0);
  const std::uint32_t nodes = std::min(requested == 0 ? by_cores : requested, ranks);
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    job.facts.rank_layout.node_of_compute_rank.push_back(
        static_cast<std::uint32_t>(rank * nodes / ranks));
  return job;
}

json document_of(const Job& job, json plans) {
  json bytes = json::array();
  for (const auto& step : job.steps)
    bytes.push_back(std::accumulate(step.begin(), step.end(), std::uint64_t{0}));
  return {{"machine", job.machine.name},
          {"ranks", job.facts.rank_layout.compute_rank_count()},
          {"nodes", job.facts.rank_layout.node_count()},
          {"bytes", std::move(bytes)},
          {"plans", std::move(plans)}};
}

Result<json> describe(const StepsQuery& query,
                      const std::vector<std::filesystem::path>& directories) {
  auto job = job_of(query.request, directories);
  if (!job) return failure(job.error());
  job->facts.machine = &job->machine;
  json plans = json::array();
  const json requested = value_of<json>(query.request, "plans", json::array({json::object()}));
  for (const json& keys : requested) {
    const auto plan = requested_plan(keys);
    auto result = plan ? describe_plan(*job, *plan) : Result<json>(failure(plan.error()));
    plans.push_back(result ? std::move(*result)
                           : json{{"plan", keys}, {"error", result.error().message()}});
    const auto reported =
        report(query.progress, {plans.size(), requested.size(), "plans", job->machine.name},
               "simulate plans");
    if (!reported) return failure(reported.error());
  }
  return document_of(*job, std::move(plans));
}

}  // namespace

Result<json> describe_steps(const StepsQuery& query,
                            const std::vector<std::filesystem::path>& directories) {
  try {
    return describe(query, directories);
  } catch (const json::exception& error) {
    return failure(invalid_request(error.what()));
  }
}

}  // namespace forebay::model_tool
