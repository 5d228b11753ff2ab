// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/optimization_stages.hpp"

#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "bench/cube/remap.hpp"
#include "bench/cube/subprocess.hpp"

namespace forebay::bench::cube {

using nlohmann::json;

std::vector<OptimizationStage> optimization_stages() {
  Scheme scheme;
  std::vector<OptimizationStage> stages{{kOriginal, scheme}};
  scheme.write_mode = RowWriteMode::kAio;
  stages.push_back({"+ AIO", scheme});
  scheme.placement = ThreadPlacement::kSeparateCores;
  stages.push_back({"+ pinning", scheme});
  scheme.memory = RowAllocation::kAligned;
  stages.push_back({"+ alignment", scheme});
  scheme.memory = RowAllocation::kPool;
  stages.push_back({"+ pool", scheme});
  stages.push_back({.name = kOnePass, .scheme = {}, .threads = 1});
  stages.push_back({.name = kAllCores, .scheme = {}, .threads = 0});
  return stages;
}

namespace {

/// Runs a scheme and returns its times. Called in a process of its own.
Result<std::string> run_scheme(const Scheme& scheme, const RemapPaths& task) {
  std::ifstream file(task.specification);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto times = run_original(scheme, task.input, text, task.output);
  if (!times) return failure(times.error());
  return json{{"compute_s", times->compute_s}, {"write_s", times->write_s}}.dump();
}

}  // namespace

Result<StageRun> run_stage(const OptimizationStage& stage, const RemapPaths& task) {
  const auto ran = stage.scheme ? run_in_subprocess([&] { return run_scheme(*stage.scheme, task); })
                                : run_remap(task, stage.threads);
  if (!ran) return failure(ran.error());
  const auto times = stage.scheme ? json::parse(ran->output, nullptr, false) : remap_times(*ran);
  if (!times.is_object()) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read the times of " + stage.name,
                    .cause = ran->output});
  }
  StageRun run{.total_s = ran->total_s,
               .compute_s = times.at("compute_s").get<double>(),
               .write_s = times.at("write_s").get<double>(),
               .written_bytes = ran->written_bytes,
               .memory_bytes = ran->memory_bytes};
  if (times.contains("efficiency")) run.efficiency = times.at("efficiency").get<double>();
  return run;
}

}  // namespace forebay::bench::cube
