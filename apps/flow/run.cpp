// SPDX-License-Identifier: Apache-2.0
#include "flow/run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "flow/checkpoint.hpp"
#include "flow/checkpoint_report.hpp"
#include "flow/fingerprint.hpp"
#include "flow/part_fingerprints.hpp"
#include "flow/part_map.hpp"
#include "flow/stored_mesh.hpp"

namespace forebay::flow {

using command::Json;

namespace {

/// The parts of this rank, from the mesh's store.
Result<PartSet> read_own_parts(const RunOptions& options, StepReader& step, Team& team) {
  const Result<MeshFacts> facts = get_facts(step);
  if (!facts) return failure(facts.error());
  auto map = map_by_name(options.mapping, static_cast<std::uint32_t>(facts->parts), team.size());
  if (!map) return failure(map.error());
  std::vector<Part> parts;
  for (const std::uint32_t number : map->parts_of(team.rank())) {
    Result<Part> part = get_part(step, number, *facts);
    if (!part) return failure(part.error());
    parts.push_back(std::move(*part));
  }
  return PartSet(std::move(*map), team.rank(), std::move(parts));
}

/// Collective.
Result<PartSet> read_parts(const RunOptions& options, const StoreOpener& open_store, Team& team) {
  const auto store = open_store(options.mesh, StoreUse::kRead, team);
  if (!store) return failure(store.error());
  const auto step = (*store)->open_step(kMeshStep);
  if (!step) return failure(located(step.error(), options.mesh));
  Result<PartSet> set = read_own_parts(options, **step, team);
  Status agreed = team.agree(set ? Status() : failure(located(set.error(), options.mesh)));
  if (agreed) agreed = check_neighbours(*set, team);
  if (!agreed) return failure(located(agreed.error(), options.mesh));
  return set;
}

/// "40, 30, 20": the newest first, and no more than people read.
std::string newest_of(std::span<const std::uint64_t> steps) {
  constexpr std::size_t kNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(steps.size(), kNamed); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", steps[steps.size() - 1 - i]);
  return steps.size() > kNamed ? text + " and older ones" : text;
}

/// Where to go on from: the step that was asked for, else the newest.
Result<std::uint64_t> step_to_resume(const RunOptions& options,
                                     std::span<const std::uint64_t> steps) {
  const std::uint64_t step = options.resume_step.value_or(steps.empty() ? 0 : steps.back());
  if (std::ranges::binary_search(steps, step)) return step;
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = "resume",
                  .path = options.checkpoints,
                  .cause = fmt::format("there is no checkpoint of step {}; {}", step,
                                       steps.empty() ? "there is none at all"
                                                     : "there are those of " + newest_of(steps))});
}

/// The failure to read the checkpoint of `step`, with what there is to go on from instead.
Error with_older(const Error& error, std::span<const std::uint64_t> steps, std::uint64_t step) {
  const bool is_of_settings = error.kind() == ErrorClass::kInvalidArgument;
  const auto older =
      steps.first(static_cast<std::size_t>(std::ranges::lower_bound(steps, step) - steps.begin()));
  if (is_of_settings || older.empty()) return error;
  const std::string cause = error.cause() + (error.cause().empty() ? "" : "; ");
  return Error({.kind = error.kind(),
                .operation = error.operation(),
                .path = error.path(),
                .offset_bytes = error.offset_bytes(),
                .error_number = error.error_number(),
                .cause = fmt::format("{}of checkpoints before it there are those of steps {}: "
                                     "--resume-step {} goes on from there",
                                     cause, newest_of(older), older.back()),
                .rank = error.rank()});
}

/// What is reported of the steps of this run.
struct RunRecord {
  std::uint64_t first_step = 0;  ///< done before it
  std::uint64_t iterations = 0;
  std::uint64_t checkpoints = 0;
  double relative_residual_max = 0;
};

/// The run while it goes on. Collective calls all.
class Run {
 public:
  Run(const RunOptions& options, const PartSet& set, Team& team)
      : options_(options),
        set_(set),
        team_(team),
        problem_(make_problem(options.problem)),
        simulation_(set, team, *problem_, options.simulation),
        settings_{options.problem, options.simulation, fingerprint_of_mesh(set, team)} {}

  Status begin(const StoreOpener& open_store) {
    if (options_.checkpoints.empty()) return {};
    auto store = open_store(options_.checkpoints, StoreUse::kWrite, team_);
    if (!store) return failure(store.error());
    store_ = std::move(*store);
    const auto steps = store_->steps();
    if (!steps) return failure(steps.error());
    if (steps->empty() && !options_.resume_step) return {};
    if (options_.begin == Begin::kAfresh) return in_the_way(steps->back());
    const auto step = step_to_resume(options_, *steps);
    if (!step) return failure(step.error());
    const Status read = read_checkpoint(checkpoints(), *step, simulation_);
    if (!read)
      return failure(with_older(located(read.error(), options_.checkpoints), *steps, *step));
    record_.first_step = *step;
    taken_ = steps->back();
    return {};
  }

  Status go_on() {
    kept_.start = Clock::now();
    const Status computed = compute();
    if (!computed || !store_) return computed;
    const auto ended = Clock::now();
    PhaseTimes& times = simulation_.times();
    Status durable;
    {
      const PhaseTimer timer(times.checkpoint_s);
      durable = store_->wait();
    }
    const auto last = Clock::now();
    kept_.steps_s = std::chrono::duration<double>(last - kept_.start).count();
    kept_.drain_s = std::chrono::duration<double>(last - ended).count();
    kept_.blocked_s = times.checkpoint_s;
    return durable;
  }

  Json document() {
    PhaseTimes unused;
    ScalarProducts products(set_, team_, unused);
    const double norm = std::sqrt(products.of(simulation_.values(), simulation_.values()));
    const Json kept = store_ ? report_of_checkpoints(*store_, kept_, team_) : Json();
    return {{"mesh", options_.mesh},
            {"checkpoints", options_.checkpoints.empty() ? Json() : Json(options_.checkpoints)},
            {"problem", name_of(options_.problem)},
            {"ranks", team_.size()},
            {"parts", set_.map().part_count()},
            {"mapping", options_.mapping},
            {"first_step", record_.first_step},
            {"steps_done", simulation_.steps_done()},
            {"time", simulation_.time()},
            {"iterations", record_.iterations},
            {"relative_residual_max", record_.relative_residual_max},
            {"checkpoints_written", record_.checkpoints},
            {"fingerprint", fmt::format("{:016x}", fingerprint())},
            {"norm", norm},
            {"kept", kept},
            {"times_s", times_document()}};
  }

 private:
  using Clock = std::chrono::steady_clock;

  Checkpoints checkpoints() { return {*store_, set_, team_, settings_}; }

  Status compute() {
    const std::uint64_t done = simulation_.steps_done();
    const std::uint64_t rest = options_.steps - std::min(options_.steps, done);
    const auto mode = team_.rank() == 0 ? options_.progress : command::ProgressMode::kSilent;
    command::Progress progress(mode, {"computing", "steps", rest});
    for (std::uint64_t i = 0; i < rest; ++i) {
      const Result<SolverReport> report = simulation_.advance();
      if (!report) return failure(report.error());
      record_.iterations += report->iterations;
      record_.relative_residual_max =
          std::max(record_.relative_residual_max, report->relative_residual);
      const std::uint64_t step = simulation_.steps_done();
      const bool is_kept = step % options_.every == 0 || step == options_.steps;
      const Status kept = is_kept ? keep() : Status();
      if (!kept) return kept;
      progress.advance(1);
    }
    return {};
  }

  /// Of values, and of averages where there are some.
  std::uint64_t fingerprint() {
    const std::uint64_t of_values = fingerprint_of_values(set_, team_, simulation_.values());
    const std::uint32_t width = options_.simulation.averages;
    if (width == 0) return of_values;
    Fingerprint both;
    both.add(of_values);
    both.add(fingerprint_of_values(set_, team_, simulation_.averages(), width));
    return both.value();
  }

  Status keep() {
    if (!store_ || simulation_.steps_done() <= taken_) return {};
    const PhaseTimer timer(simulation_.times().checkpoint_s);
    ++record_.checkpoints;
    return write_checkpoint(checkpoints(), simulation_);
  }

  Status in_the_way(std::uint64_t step) const {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "run",
                    .path = options_.checkpoints,
                    .cause = fmt::format("there are checkpoints up to step {}; --resume goes on "
                                         "with them, or choose another name",
                                         step)});
  }

  /// Of each phase, the mean over ranks and the largest.
  Json times_document() {
    const std::vector<PhaseTimes> all = team_.gather(simulation_.times());
    constexpr std::array<std::pair<const char*, double PhaseTimes::*>, 6> kPhases{
        {{"assembly", &PhaseTimes::assembly_s},
         {"product", &PhaseTimes::product_s},
         {"exchange", &PhaseTimes::exchange_s},
         {"sums", &PhaseTimes::sums_s},
         {"solve", &PhaseTimes::solve_s},
         {"checkpoint", &PhaseTimes::checkpoint_s}}};
    Json phases;
    for (const auto& [name, phase] : kPhases) {
      double sum = 0;
      double most = 0;
      for (const PhaseTimes& times : all) {
        sum += times.*phase;
        most = std::max(most, times.*phase);
      }
      phases[name] = {{"mean", sum / static_cast<double>(all.size())}, {"max", most}};
    }
    return phases;
  }

  const RunOptions& options_;
  const PartSet& set_;
  Team& team_;
  std::unique_ptr<Problem> problem_;
  Simulation simulation_;
  RunSettings settings_;
  std::unique_ptr<PartStore> store_;
  std::uint64_t taken_ = 0;  ///< the number of the newest checkpoint that was there
  RunRecord record_;
  CheckpointTimes kept_;
};

}  // namespace

Result<Json> run(const RunOptions& options, const StoreOpener& open_store, Team& team) {
  const auto start = std::chrono::steady_clock::now();
  const Result<PartSet> set = read_parts(options, open_store, team);
  if (!set) return failure(set.error());
  Run running(options, *set, team);
  Status status = running.begin(open_store);
  if (status) status = running.go_on();
  if (!status) return failure(status.error());
  Json document = running.document();
  if (team.rank() != 0) return Json::object();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  document["times_s"]["total"] = elapsed.count();
  return document;
}

}  // namespace forebay::flow
