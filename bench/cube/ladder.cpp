// SPDX-License-Identifier: Apache-2.0
// The ladder for the deck's three inputs, in paired rounds.
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "bench/cube/cube.hpp"
#include "bench/cube/rungs.hpp"
#include "bench/cube/specification.hpp"
#include "cube/compare.hpp"
#include "cube/generate.hpp"

namespace forebay::bench::cube {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOverOriginal = "cube.over_original";
constexpr const char* kAmplification = "cube.write_amplification";
constexpr const char* kEfficiency = "cube.efficiency";
constexpr std::uint32_t kRowsOfDeck = 614;
constexpr std::uint64_t kValueBytes = 8;

/// An input of the deck. The largest is what goals are about; the others have an id of their own.
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

/// All that was measured on one input.
struct Measured {
  std::map<std::string, std::vector<RungRun>> runs;  // by name of the rung, one for each round
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;

  template <class Value>
  Summary of(const std::string& rung, const Value& value) const {
    std::vector<double> values;
    for (const RungRun& run : runs.at(rung))
      values.push_back(value(run));
    return summarise(values);
  }
  Summary total(const std::string& rung) const {
    return of(rung, [](const RungRun& run) { return run.total_s; });
  }
  /// Of the total times within each round.
  Summary original_over(const std::string& rung) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < runs.at(rung).size(); ++i)
      values.push_back(runs.at(kOriginal)[i].total_s / runs.at(rung)[i].total_s);
    return summarise(values);
  }
  bool counts_writes() const {
    for (const auto& [name, of_rung] : runs) {
      for (const RungRun& run : of_rung) {
        if (!run.written_bytes) return false;
      }
    }
    return true;
  }
  Summary amplification(const std::string& rung) const {
    return of(rung, [this](const RungRun& run) {
      return static_cast<double>(run.written_bytes.value_or(0)) / static_cast<double>(output_bytes);
    });
  }
};

class Ladder {
 public:
  Ladder(Context& context, const Input& input)
      : context_(context),
        input_(input),
        task_{.input = (context.folder() / "input.cubex").string(),
              .specification = (context.folder() / "ladder.spec").string(),
              .output = {}} {}

  Result<Measured> run() {
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
  Result<double> run_one(const Rung& rung);
  void remove_outputs() const;

  /// Quick runs keep all outputs, to compare them; others have room for one.
  fs::path output_of(std::size_t number) const {
    return context_.folder() / fmt::format("output-{}.cubex", context_.quick() ? number : 0);
  }

  Context& context_;
  const Input& input_;
  const std::vector<Rung> rungs_ = all_rungs();
  Task task_;
  Measured measured_;
};

Status Ladder::prepare() {
  // The input, its temporary files and the output, each with the metrics that are added.
  const std::uint64_t input_bytes = kValueBytes * kRowsOfDeck * input_.threads;
  if (auto room = context_.require_space(6 * input_bytes); !room) return room;
  std::ofstream(task_.specification) << ladder_specification();
  forebay::cube::GenerateOptions options{.path = task_.input,
                                         .shape = {.locations = input_.threads},
                                         .rows = kRowsOfDeck,
                                         .workers = std::thread::hardware_concurrency()};
  if (auto made = forebay::cube::generate(options); !made) return made;
  measured_.input_bytes = fs::file_size(task_.input);
  return {};
}

Result<double> Ladder::run_one(const Rung& rung) {
  const auto run = run_rung(rung, task_);
  if (!run) return failure(run.error());
  measured_.runs[rung.name].push_back(*run);
  measured_.output_bytes = fs::file_size(task_.output);
  return run->total_s;
}

Status Ladder::measure() {
  std::vector<Variant> variants;
  for (std::size_t i = 0; i < rungs_.size(); ++i) {
    variants.push_back({rungs_[i].name,
                        [this, i]() -> Status {
                          task_.output = output_of(i).string();
                          fs::remove(task_.output);
                          return {};
                        },
                        [this, i] { return run_one(rungs_[i]); }});
  }
  const std::string id = fmt::format("{}, {} threads", kOverOriginal, input_.threads);
  const auto rounds = context_.run(id, context_.choose(5U, 2U), variants);
  if (!rounds) return failure(rounds.error());
  for (auto& [name, runs] : measured_.runs)
    runs.erase(runs.begin());  // of the round that was there to warm up
  return {};
}

Status Ladder::compare_all() {
  if (!context_.quick()) return {};
  for (std::size_t i = 1; i < rungs_.size(); ++i) {
    const auto document =
        forebay::cube::compare({.paths = {output_of(0).string(), output_of(i).string()}});
    if (!document) return failure(document.error());
    if (document->at("ok") == true) continue;
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "compare with the original",
                    .path = output_of(i).string(),
                    .cause = rungs_[i].name + ": " + document->dump()});
  }
  return {};
}

void Ladder::remove_outputs() const {
  for (std::size_t i = 0; i < rungs_.size(); ++i) {
    std::error_code ignored;
    fs::remove(output_of(i), ignored);
  }
}

nlohmann::json to_json(const Summary& summary) {
  return {{"value", summary.median}, {"spread", {summary.low, summary.high}}};
}

/// For the picture.
nlohmann::json to_json(const Measured& measured, const Input& input) {
  nlohmann::json rungs = nlohmann::json::array();
  for (const Rung& rung : all_rungs()) {
    rungs.push_back(
        {{"name", rung.name},
         {"total", to_json(measured.total(rung.name))},
         {"compute",
          to_json(measured.of(rung.name, [](const RungRun& run) { return run.compute_s; }))},
         {"write", to_json(measured.of(rung.name, [](const RungRun& run) { return run.write_s; }))},
         {"memory_bytes", measured.runs.at(rung.name).back().memory_bytes}});
  }
  const Summary ratio =
      measured.of(kOriginal, [](const RungRun& run) { return run.compute_s / run.write_s; });
  return {{"threads", input.threads},
          {"input_bytes", measured.input_bytes},
          {"output_bytes", measured.output_bytes},
          {"compute_over_write", to_json(ratio)},
          {"rungs", std::move(rungs)}};
}

void add_over_original(Context& context, const Input& input, const Measured& measured) {
  ResultRow row{.id = input.id, .unit = "1", .measured = measured.original_over(kAllCores)};
  if (input.id == kOverOriginal) row.goal = Goal{2.5, Better::kHigher};
  for (const Rung& rung : all_rungs()) {
    if (rung.name == kAllCores) continue;
    row.peers.push_back({rung.name, "1", measured.original_over(rung.name)});
  }
  for (const Rung& rung : all_rungs())
    row.peers.push_back({rung.name + ", time", "s", measured.total(rung.name)});
  context.add(std::move(row));
}

void add_amplification(Context& context, const Measured& measured) {
  if (!measured.counts_writes()) {
    context.leave_out(kAmplification, "this system does not count what a process writes");
    return;
  }
  ResultRow row{.id = kAmplification,
                .unit = "1",
                .measured = measured.amplification(kAllCores),
                .goal = Goal{1.02}};
  for (const Rung& rung : all_rungs()) {
    if (rung.name == kAllCores) continue;
    row.peers.push_back({rung.name, "1", measured.amplification(rung.name)});
  }
  context.add(std::move(row));
}

void add_efficiency(Context& context, const Measured& measured) {
  const auto efficiency = [](const RungRun& run) { return run.efficiency.value_or(0); };
  context.add({.id = kEfficiency,
               .unit = "1",
               .measured = measured.of(kAllCores, efficiency),
               .goal = Goal{0.9, Better::kHigher},
               .peers = {{kOnePass, "1", measured.of(kOnePass, efficiency)}}});
}

void add_rows(Context& context, const Input& input, const Measured& measured) {
  if (context.wants(input.id)) add_over_original(context, input, measured);
  if (input.id != kOverOriginal) return;
  if (context.wants(kAmplification)) add_amplification(context, measured);
  if (context.wants(kEfficiency)) add_efficiency(context, measured);
}

bool is_wanted(Context& context, const Input& input) {
  bool wanted = context.wants(input.id);
  if (input.id != kOverOriginal) return wanted;
  for (const char* const id : {kAmplification, kEfficiency})
    wanted = context.wants(id) || wanted;
  return wanted;
}

}  // namespace

Status bench_ladder(Context& context) {
  nlohmann::json ladder = nlohmann::json::array();
  for (const Input& input : inputs(context)) {
    if (!is_wanted(context, input)) continue;
    const auto measured = Ladder(context, input).run();
    if (!measured) return failure(measured.error());
    add_rows(context, input, *measured);
    ladder.push_back(to_json(*measured, input));
  }
  if (!ladder.empty()) context.set_parameter("cube.ladder", std::move(ladder));
  return {};
}

}  // namespace forebay::bench::cube
