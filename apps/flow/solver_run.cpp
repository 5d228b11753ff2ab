// SPDX-License-Identifier: Apache-2.0
#include "flow/solver_run.hpp"

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
#include "flow/mesh_io.hpp"
#include "flow/part_fingerprints.hpp"
#include "flow/part_map.hpp"

namespace forebay::flow {

using command::Json;

namespace {

/// Reads the parts of this rank from the mesh's store.
Result<PartSet> read_local_parts(const RunOptions& options,
                                 PartStepReader& step,
                                 SolverComm& comm) {
  const Result<MeshInfo> info = get_mesh_info(step);
  if (!info) return failure(info.error());
  auto map = parse_part_map(options.mapping, static_cast<std::uint32_t>(info->parts), comm.size());
  if (!map) return failure(map.error());
  std::vector<MeshPart> parts;
  for (const std::uint32_t number : map->parts_of(comm.rank())) {
    Result<MeshPart> part = get_part(step, number, *info);
    if (!part) return failure(part.error());
    parts.push_back(std::move(*part));
  }
  return PartSet(std::move(*map), comm.rank(), std::move(parts));
}

/// Collective.
Result<PartSet> read_parts(const RunOptions& options,
                           const StoreOpener& open_store,
                           SolverComm& comm) {
  const auto store = open_store(options.mesh, StoreMode::kRead, comm);
  if (!store) return failure(store.error());
  const auto step = (*store)->open_step(kMeshStep);
  if (!step) return failure(with_location(step.error(), options.mesh));
  Result<PartSet> set = read_local_parts(options, **step, comm);
  Status agreed = comm.agree(set ? Status() : failure(with_location(set.error(), options.mesh)));
  if (agreed) agreed = check_neighbors(*set, comm);
  if (!agreed) return failure(with_location(agreed.error(), options.mesh));
  return set;
}

/// "40, 30, 20": the newest first, shortened for readers.
std::string format_newest(std::span<const std::uint64_t> steps) {
  constexpr std::size_t kNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(steps.size(), kNamed); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", steps[steps.size() - 1 - i]);
  return steps.size() > kNamed ? text + " and older ones" : text;
}

/// The step to resume from: the requested step, else the newest.
Result<std::uint64_t> choose_resume_step(const RunOptions& options,
                                         std::span<const std::uint64_t> steps) {
  const std::uint64_t step = options.resume_step.value_or(steps.empty() ? 0 : steps.back());
  if (std::ranges::binary_search(steps, step)) return step;
  return failure(
      {.kind = ErrorClass::kNotFound,
       .operation = "resume",
       .path = options.checkpoints,
       .cause = fmt::format("step {} has no checkpoint; {}", step,
                            steps.empty() ? "the store has none"
                                          : "there are those of steps " + format_newest(steps))});
}

/// Adds to the failure to read the checkpoint of `step` how to resume from an older one.
Error suggest_older(const Error& error, std::span<const std::uint64_t> steps, std::uint64_t step) {
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
                .cause = fmt::format("{}older checkpoints are those of steps {}; resume with "
                                     "--resume-step {}",
                                     cause, format_newest(older), older.back()),
                .rank = error.rank()});
}

/// Reported statistics of the steps of this run.
struct RunStatistics {
  std::uint64_t first_step = 0;  ///< steps done before this run
  std::uint64_t iterations = 0;
  std::uint64_t checkpoints = 0;
  double relative_residual_max = 0;
};

/// The state of a run. All calls are collective.
class SolverRun {
 public:
  SolverRun(const RunOptions& options, const PartSet& set, SolverComm& comm)
      : options_(options),
        set_(set),
        comm_(comm),
        problem_(make_problem(options.problem)),
        simulation_(set, comm, *problem_, options.simulation),
        settings_{options.problem, options.simulation, fingerprint_of_mesh(set, comm)} {}

  Status restore(const StoreOpener& open_store) {
    if (options_.checkpoints.empty()) return {};
    auto store = open_store(options_.checkpoints, StoreMode::kWrite, comm_);
    if (!store) return failure(store.error());
    store_ = std::move(*store);
    const auto steps = store_->steps();
    if (!steps) return failure(steps.error());
    if (steps->empty() && !options_.resume_step) return {};
    if (options_.start_mode == StartMode::kFresh) return existing_checkpoints_error(steps->back());
    const auto step = choose_resume_step(options_, *steps);
    if (!step) return failure(step.error());
    const Status read = read_checkpoint(checkpoints(), *step, simulation_);
    if (!read)
      return failure(
          suggest_older(with_location(read.error(), options_.checkpoints), *steps, *step));
    statistics_.first_step = *step;
    newest_existing_step_ = steps->back();
    return {};
  }

  Status execute() {
    checkpoint_times_.start = Clock::now();
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
    checkpoint_times_.steps_s =
        std::chrono::duration<double>(last - checkpoint_times_.start).count();
    checkpoint_times_.drain_s = std::chrono::duration<double>(last - ended).count();
    checkpoint_times_.blocked_s = times.checkpoint_s;
    return durable;
  }

  Json document() {
    PhaseTimes unused;
    ScalarProducts products(set_, comm_, unused);
    const double norm = std::sqrt(products.compute(simulation_.values(), simulation_.values()));
    const Json report = store_ ? checkpoint_report(*store_, checkpoint_times_, comm_) : Json();
    return {{"mesh", options_.mesh},
            {"checkpoints", options_.checkpoints.empty() ? Json() : Json(options_.checkpoints)},
            {"problem", name_of(options_.problem)},
            {"ranks", comm_.size()},
            {"parts", set_.map().part_count()},
            {"mapping", options_.mapping},
            {"first_step", statistics_.first_step},
            {"steps_done", simulation_.steps_done()},
            {"time", simulation_.time()},
            {"iterations", statistics_.iterations},
            {"relative_residual_max", statistics_.relative_residual_max},
            {"checkpoints_written", statistics_.checkpoints},
            {"fingerprint", fmt::format("{:016x}", fingerprint())},
            {"norm", norm},
            {"checkpoint_report", report},
            {"times_s", times_json()}};
  }

 private:
  using Clock = std::chrono::steady_clock;

  CheckpointContext checkpoints() { return {*store_, set_, comm_, settings_}; }

  Status compute() {
    const std::uint64_t done = simulation_.steps_done();
    const std::uint64_t rest = options_.steps - std::min(options_.steps, done);
    const auto mode = comm_.rank() == 0 ? options_.progress : command::ProgressMode::kSilent;
    command::Progress progress(mode, {"computing", "steps", rest});
    for (std::uint64_t i = 0; i < rest; ++i) {
      const Result<SolverReport> report = simulation_.advance();
      if (!report) return failure(report.error());
      statistics_.iterations += report->iterations;
      statistics_.relative_residual_max =
          std::max(statistics_.relative_residual_max, report->relative_residual);
      const std::uint64_t step = simulation_.steps_done();
      const bool is_due = step % options_.checkpoint_interval == 0 || step == options_.steps;
      const Status written = is_due ? write_if_due() : Status();
      if (!written) return written;
      progress.advance(1);
    }
    return {};
  }

  /// Fingerprint of values, and of averages if there are any.
  std::uint64_t fingerprint() {
    const std::uint64_t of_values = fingerprint_of_values(set_, comm_, simulation_.values());
    const std::uint32_t width = options_.simulation.averages;
    if (width == 0) return of_values;
    Fingerprint both;
    both.add(of_values);
    both.add(fingerprint_of_values(set_, comm_, simulation_.averages(), width));
    return both.value();
  }

  Status write_if_due() {
    if (!store_ || simulation_.steps_done() <= newest_existing_step_) return {};
    const PhaseTimer timer(simulation_.times().checkpoint_s);
    ++statistics_.checkpoints;
    return write_checkpoint(checkpoints(), simulation_);
  }

  Status existing_checkpoints_error(std::uint64_t step) const {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "run",
                    .path = options_.checkpoints,
                    .cause = fmt::format("the store has checkpoints up to step {}; continue them "
                                         "with --resume, or choose another path",
                                         step)});
  }

  /// For each phase, the mean and the maximum over ranks.
  Json times_json() {
    const std::vector<PhaseTimes> all_times = comm_.allgather(simulation_.times());
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
      for (const PhaseTimes& times : all_times) {
        sum += times.*phase;
        most = std::max(most, times.*phase);
      }
      phases[name] = {{"mean", sum / static_cast<double>(all_times.size())}, {"max", most}};
    }
    return phases;
  }

  const RunOptions& options_;
  const PartSet& set_;
  SolverComm& comm_;
  std::unique_ptr<Problem> problem_;
  Simulation simulation_;
  RunSettings settings_;
  std::unique_ptr<PartStore> store_;
  std::uint64_t newest_existing_step_ = 0;  ///< number of the newest checkpoint when the store was
                                            ///< opened
  RunStatistics statistics_;
  CheckpointTimes checkpoint_times_;
};

}  // namespace

Result<Json> run(const RunOptions& options, const StoreOpener& open_store, SolverComm& comm) {
  const auto start = std::chrono::steady_clock::now();
  const Result<PartSet> set = read_parts(options, open_store, comm);
  if (!set) return failure(set.error());
  SolverRun solver_run(options, *set, comm);
  Status status = solver_run.restore(open_store);
  if (status) status = solver_run.execute();
  if (!status) return failure(status.error());
  Json document = solver_run.document();
  if (comm.rank() != 0) return Json::object();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  document["times_s"]["total"] = elapsed.count();
  return document;
}

}  // namespace forebay::flow
