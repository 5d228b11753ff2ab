// SPDX-License-Identifier: Apache-2.0
#include "tools/study/document.hpp"

#include <algorithm>
#include <chrono>

namespace forebay::study {

namespace {

using nlohmann::json;

double seconds(model::Time time) { return std::chrono::duration<double>(time).count(); }

constexpr double kBytesPerMb = 1e6;
constexpr std::uint64_t kWordBytes = 8;

json cell_json(const Cell& cell, std::uint64_t step_bytes) {
  const double durable_s = seconds(cell.step.durable);
  return {{"strategy", name_of(cell.plan.strategy)},
          {"writers", cell.plan.writers},
          {"files", cell.plan.files},
          {"files_opened_s", seconds(cell.step.files_opened)},
          {"handed_off_s", seconds(cell.step.exchanged)},
          {"written_s", seconds(cell.step.written)},
          {"durable_s", durable_s},
          {"mb_per_s", static_cast<double>(step_bytes) / kBytesPerMb / durable_s}};
}

json machine_json(const model::Machine& machine, const Sweep& sweep, std::uint64_t step_bytes) {
  json cells = json::array();
  for (const Cell& cell : sweep.cells)
    cells.push_back(cell_json(cell, step_bytes));
  return {{"name", machine.name},
          {"about", machine.about},
          {"nodes", sweep.nodes},
          {"cells", std::move(cells)},
          {"shared", cell_json(sweep.shared, step_bytes)}};
}

Status check(const Checkpoint& checkpoint) {
  const auto refused = [](const char* cause) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "simulate a checkpoint",
                    .cause = cause});
  };
  if (checkpoint.ranks < 1 || checkpoint.ranks > kRanksMax || checkpoint.nodes > kRanksMax)
    return refused("ranks and nodes are 1 to 1024");
  const std::uint64_t bytes = checkpoint.bytes_per_rank;
  if (bytes < kWordBytes || bytes > kBytesPerRankMax || bytes % kWordBytes != 0)
    return refused("the bytes of a rank are 8 to 2^30, and a multiple of 8");
  return {};
}

Result<json> describe_machine(const StudyRequest& request, const model::Machine& machine) {
  const auto plans = plans_of(request.checkpoint, machine);
  if (!plans) return failure(plans.error());
  const auto swept = sweep(request.checkpoint, machine, [&](std::size_t done) {
    return !request.progress || request.progress({done, plans->size(), "plans", machine.name});
  });
  if (!swept) return failure(swept.error());
  const auto is_free = [](const Cell& cell) { return cell.step.durable == model::Time{}; };
  if (std::ranges::any_of(swept->cells, is_free) || is_free(swept->shared))
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "simulate machine " + machine.name,
                    .cause = "a step takes no time there, so plans do not differ; name a machine "
                             "with a bandwidth, or measure one with `forebay calibrate`"});
  return machine_json(machine, *swept, request.checkpoint.step_bytes());
}

}  // namespace

Result<json> describe(const StudyRequest& request,
                      const std::vector<std::filesystem::path>& directories) {
  const Checkpoint& checkpoint = request.checkpoint;
  if (const Status checked = check(checkpoint); !checked) return failure(checked.error());
  json machines = json::array();
  for (const std::string& name : request.machines) {
    const auto machine = model::load_machine(name, directories);
    if (!machine) return failure(machine.error());
    auto one = describe_machine(request, *machine);
    if (!one) return one;
    machines.push_back(std::move(*one));
  }
  return json{{"ranks", checkpoint.ranks},
              {"bytes_per_rank", checkpoint.bytes_per_rank},
              {"sizes", name_of(checkpoint.sizes)},
              {"step_bytes", checkpoint.step_bytes()},
              {"machines", std::move(machines)}};
}

}  // namespace forebay::study
