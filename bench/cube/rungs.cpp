// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/rungs.hpp"

#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "bench/cube/apart.hpp"
#include "bench/cube/remap.hpp"

namespace forebay::bench::cube {

using nlohmann::json;

std::vector<Rung> all_rungs() {
  Scheme scheme;
  std::vector<Rung> rungs{{kOriginal, scheme}};
  scheme.writing = Writing::kAio;
  rungs.push_back({"+ AIO", scheme});
  scheme.placement = Placement::kApart;
  rungs.push_back({"+ pinning", scheme});
  scheme.memory = Memory::kAligned;
  rungs.push_back({"+ alignment", scheme});
  scheme.memory = Memory::kPool;
  rungs.push_back({"+ pool", scheme});
  rungs.push_back({.name = kOnePass, .scheme = {}, .threads = 1});
  rungs.push_back({.name = kAllCores, .scheme = {}, .threads = 0});
  return rungs;
}

namespace {

/// The times of a scheme, from its own process.
Result<std::string> run_scheme(const Scheme& scheme, const Task& task) {
  std::ifstream file(task.specification);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto times = run_original(scheme, task.input, text, task.output);
  if (!times) return failure(times.error());
  return json{{"compute_s", times->compute_s}, {"write_s", times->write_s}}.dump();
}

}  // namespace

Result<RungRun> run_rung(const Rung& rung, const Task& task) {
  const auto ran = rung.scheme ? run_apart([&] { return run_scheme(*rung.scheme, task); })
                               : run_remap(task, rung.threads);
  if (!ran) return failure(ran.error());
  const auto times = rung.scheme ? json::parse(ran->output, nullptr, false) : remap_times(*ran);
  if (!times.is_object()) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read the times of " + rung.name,
                    .cause = ran->output});
  }
  RungRun run{.total_s = ran->total_s,
              .compute_s = times.at("compute_s").get<double>(),
              .write_s = times.at("write_s").get<double>(),
              .written_bytes = ran->written_bytes,
              .memory_bytes = ran->memory_bytes};
  if (times.contains("efficiency")) run.efficiency = times.at("efficiency").get<double>();
  return run;
}

}  // namespace forebay::bench::cube
