// SPDX-License-Identifier: Apache-2.0
// Compares the stages on the three inputs of the study, in paired rounds.
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "bench/cube/cube.hpp"
#include "bench/cube/optimization_stages.hpp"
#include "bench/cube/specification.hpp"
#include "cube/compare.hpp"
#include "cube/generate.hpp"

namespace forebay::bench::cube {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOverOriginal = "cube.over_original";
constexpr const char* kAmplification = "cube.write_amplification";
constexpr const char* kEfficiency = "cube.efficiency";
constexpr std::uint32_t kRowsOfStudy = 614;
constexpr std::uint64_t kValueBytes = 8;

/// An input of the study. Goals are defined for the largest; the others have ids of their own.
struct Input {
  std::string id;
  std::uint32_t threads = 0;
};

std::vector<Input> inputs(Context& context) {
  constexpr std::array<std::uint32_t, 3> kUsual{65535, 131071, 262143};
  constexpr std::array<std::uint32_t, 3> kQuick{1023, 2047, 4095};
  const auto& threads = context.quick() ? kQuick : kUsual;
  return {{std::string(kOverOriginal) + ".small", threads[0]},
          {std::string(kOverOriginal) + ".medium", threads[1]},
          {kOverOriginal, threads[2]}};
}

/// All measurements on one input.
struct StageResults {
  std::map<std::string, std::vector<StageRun>> runs;  // by name of the stage, one per round
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;

  template <class Value>
  Summary of(const std::string& stage, const Value& value) const {
    std::vector<double> values;
    for (const StageRun& run : runs.at(stage))
      values.push_back(value(run));
    return summarize(values);
  }
  Summary total(const std::string& stage) const {
    return of(stage, [](const StageRun& run) { return run.total_s; });
  }
  /// Ratios of total times within each round.
  Summary original_over(const std::string& stage) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < runs.at(stage).size(); ++i)
      values.push_back(runs.at(kOriginal)[i].total_s / runs.at(stage)[i].total_s);
    return summarize(values);
  }
  bool has_write_counts() const {
    for (const auto& [name, stage_runs] : runs) {
      for (const StageRun& run : stage_runs) {
        if (!run.written_bytes) return false;
      }
    }
    return true;
  }
  Summary amplification(const std::string& stage) const {
    return of(stage, [this](const StageRun& run) {
      return static_cast<double>(run.written_bytes.value_or(0)) / static_cast<double>(output_bytes);
    });
  }
};

class StageComparison {
 public:
  StageComparison(Context& context, const Input& input)
      : context_(context),
        input_(input),
        task_{.input = (context.directory() / "input.cubex").string(),
              .specification = (context.directory() / "stages.spec").string(),
              .output = {}} {}

  Result<StageResults> run() {
    Status done = prepare();
    if (done) done = measure();
    if (done) done = compare_all();
    remove_outputs();
    if (!done) return failure(done.error());
    return std::move(measured_);
  }

 private:
  Status prepare();
  Status measure();
  Status compare_all();
  Result<double> run_one(const OptimizationStage& stage);
  void remove_outputs() const;

  /// Quick runs keep all outputs, to compare them; other runs have space for one.
  fs::path output_of(std::size_t number) const {
    return context_.directory() / fmt::format("output-{}.cubex", context_.quick() ? number : 0);
  }

  Context& context_;
  const Input& input_;
  const std::vector<OptimizationStage> stages_ = optimization_stages();
  RemapPaths task_;
  StageResults measured_;
};

Status StageComparison::prepare() {
  // Space for the input, its temporary files and the output, each with the added metrics.
  const std::uint64_t input_bytes = kValueBytes * kRowsOfStudy * input_.threads;
  if (auto room = context_.require_space(6 * input_bytes); !room) return room;
  std::ofstream(task_.specification) << stage_specification();
  forebay::cube::GenerateOptions options{.path = task_.input,
                                         .shape = {.locations = input_.threads},
                                         .rows = kRowsOfStudy,
                                         .workers = std::thread::hardware_concurrency()};
  if (auto made = forebay::cube::generate(options); !made) return made;
  measured_.input_bytes = fs::file_size(task_.input);
  return {};
}

Result<double> StageComparison::run_one(const OptimizationStage& stage) {
  const auto run = run_stage(stage, task_);
  if (!run) return failure(run.error());
  measured_.runs[stage.name].push_back(*run);
  measured_.output_bytes = fs::file_size(task_.output);
  return run->total_s;
}

Status StageComparison::measure() {
  std::vector<Variant> variants;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    variants.push_back({stages_[i].name,
                        [this, i]() -> Status {
                          task_.output = output_of(i).string();
                          fs::remove(task_.output);
                          return {};
                        },
                        [this, i] { return run_one(stages_[i]); }});
  }
  const std::string id = fmt::format("{}, {} threads", kOverOriginal, input_.threads);
  const auto rounds = context_.run(id, context_.choose(5U, 2U), variants);
  if (!rounds) return failure(rounds.error());
  for (auto& [name, runs] : measured_.runs)
    runs.erase(runs.begin());  // of the warm-up round
  return {};
}

Status StageComparison::compare_all() {
  if (!context_.quick()) return {};
  for (std::size_t i = 1; i < stages_.size(); ++i) {
    const auto document =
        forebay::cube::compare({.paths = {output_of(0).string(), output_of(i).string()}});
    if (!document) return failure(document.error());
    if (document->at("ok") == true) continue;
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "compare with the original",
                    .path = output_of(i).string(),
                    .cause = stages_[i].name + ": " + document->dump()});
  }
  return {};
}

void StageComparison::remove_outputs() const {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    std::error_code ignored;
    fs::remove(output_of(i), ignored);
  }
}

nlohmann::json to_json(const Summary& summary) {
  return {{"value", summary.median}, {"spread", {summary.low, summary.high}}};
}

/// For the plot.
nlohmann::json to_json(const StageResults& measured, const Input& input) {
  nlohmann::json stages = nlohmann::json::array();
  for (const OptimizationStage& stage : optimization_stages()) {
    stages.push_back(
        {{"name", stage.name},
         {"total", to_json(measured.total(stage.name))},
         {"compute",
          to_json(measured.of(stage.name, [](const StageRun& run) { return run.compute_s; }))},
         {"write",
          to_json(measured.of(stage.name, [](const StageRun& run) { return run.write_s; }))},
         {"memory_bytes", measured.runs.at(stage.name).back().memory_bytes}});
  }
  const Summary ratio =
      measured.of(kOriginal, [](const StageRun& run) { return run.compute_s / run.write_s; });
  return {{"threads", input.threads},
          {"input_bytes", measured.input_bytes},
          {"output_bytes", measured.output_bytes},
          {"compute_over_write", to_json(ratio)},
          {"stages", std::move(stages)}};
}

void add_over_original(Context& context, const Input& input, const StageResults& measured) {
  ResultRow row{.id = input.id, .unit = "1", .measured = measured.original_over(kAllCores)};
  if (input.id == kOverOriginal) row.goal = Goal{2.5, Better::kHigher};
  for (const OptimizationStage& stage : optimization_stages()) {
    if (stage.name == kAllCores) continue;
    row.peers.push_back({stage.name, "1", measured.original_over(stage.name)});
  }
  for (const OptimizationStage& stage : optimization_stages())
    row.peers.push_back({stage.name + ", time", "s", measured.total(stage.name)});
  context.add(std::move(row));
}

void add_amplification(Context& context, const StageResults& measured) {
  if (!measured.has_write_counts()) {
    context.skip(kAmplification, "this system does not count what a process writes");
    return;
  }
  ResultRow row{.id = kAmplification,
                .unit = "1",
                .measured = measured.amplification(kAllCores),
                .goal = Goal{1.02}};
  for (const OptimizationStage& stage : optimization_stages()) {
    if (stage.name == kAllCores) continue;
    row.peers.push_back({stage.name, "1", measured.amplification(stage.name)});
  }
  context.add(std::move(row));
}

void add_efficiency(Context& context, const StageResults& measured) {
  const auto efficiency = [](const StageRun& run) { return run.efficiency.value_or(0); };
  context.add({.id = kEfficiency,
               .unit = "1",
               .measured = measured.of(kAllCores, efficiency),
               .goal = Goal{0.9, Better::kHigher},
               .peers = {{kOnePass, "1", measured.of(kOnePass, efficiency)}}});
}

void add_rows(Context& context, const Input& input, const StageResults& measured) {
  if (context.is_selected(input.id)) add_over_original(context, input, measured);
  if (input.id != kOverOriginal) return;
  if (context.is_selected(kAmplification)) add_amplification(context, measured);
  if (context.is_selected(kEfficiency)) add_efficiency(context, measured);
}

bool is_selected(Context& context, const Input& input) {
  bool wanted = context.is_selected(input.id);
  if (input.id != kOverOriginal) return wanted;
  for (const char* const id : {kAmplification, kEfficiency})
    wanted = context.is_selected(id) || wanted;
  return wanted;
}

}  // namespace

Status bench_stages(Context& context) {
  nlohmann::json comparison = nlohmann::json::array();
  for (const Input& input : inputs(context)) {
    if (!is_selected(context, input)) continue;
    const auto measured = StageComparison(context, input).run();
    if (!measured) return failure(measured.error());
    add_rows(context, input, *measured);
    comparison.push_back(to_json(*measured, input));
  }
  if (!comparison.empty()) context.set_parameter("cube.stages", std::move(comparison));
  return {};
}

}  // namespace forebay::bench::cube
