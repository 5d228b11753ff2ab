// SPDX-License-Identifier: Apache-2.0
// forebay bench checkpoint: compares all methods of checkpointing of this program, until the bytes
// are on storage. docs/guides/bench-checkpoint.md defines each number.
#include <algorithm>

#include <mpi.h>

#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/fio_jobs.hpp"
#include "bench/checkpoint/forebay_rows.hpp"
#include "bench/checkpoint/rounds_of_case.hpp"
#include "bench/checkpoint/run_files.hpp"
#include "bench/checkpoint/samples.hpp"
#include "bench/frame/benchmark.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr double kPhaseSeconds = 0.25;
constexpr double kQuickPhaseSeconds = 0.01;
constexpr double kMegabyte = 1e6;

/// Bytes of all steps together.
constexpr ByEffort<std::uint64_t> kPayloadBytes = {.quick = 16_MiB, .usual = 1_GiB, .full = 8_GiB};

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all = text;
  return all.substr(0, all.find('\n'));
}

bool has_case(const GoalRow& goal, const Case& bench_case) {
  return std::any_of(goal.cases.begin(), goal.cases.end(),
                     [&bench_case](const Case& other) { return other.id == bench_case.id; });
}

/// Goals that are computed from the results of kMemoryCase.
struct MemoryGoal {
  const char* id;
  tl::expected<ResultRow, std::string> (*row)(const Samples& samples);
};
constexpr MemoryGoal kMemoryGoals[] = {{"ckpt.memory_over_plan", &memory_over_plan},
                                       {"ckpt.brigade_memory", &brigade_memory}};

/// The program of the peers' libraries (Open MPI) skips these rows; the other program measures
/// them.
bool has_forebay_rows() { return mpi_library().rfind("Open MPI", 0) != 0; }

/// Whether a case is measured: for its own row, or for a goal. Calls is_selected() for all ids.
class RowSelection {
 public:
  explicit RowSelection(Context& context) {
    for (const MemoryGoal& goal : kMemoryGoals) {
      if (context.is_selected(goal.id) && has_forebay_rows()) memory_goals_.insert(goal.id);
    }
    for (const Case& bench_case : all_cases()) {
      if (context.is_selected(bench_case.id)) cases_.insert(bench_case.id);
    }
    for (const GoalRow& goal : all_goals()) {
      if (context.is_selected(goal.id)) goals_.insert(goal.id);
    }
    for (const std::string& id : forebay_row_ids())
      std::ignore = context.is_selected(id);
  }
  bool has_row(const Case& bench_case) const { return cases_.contains(bench_case.id); }
  bool has_row(const GoalRow& goal) const { return goals_.contains(goal.id); }
  bool has_row(const MemoryGoal& goal) const { return memory_goals_.contains(goal.id); }
  bool is_measured(const Case& bench_case) const {
    if (bench_case.scope == Scope::kMemory)
      return has_forebay_rows() && (has_row(bench_case) || !memory_goals_.empty());
    return has_row(bench_case) || !compared_candidates(bench_case).empty();
  }
  /// Candidates of a case: all (empty) for its own row, else those that goals compare.
  std::set<std::string, std::less<>> candidates(const Case& bench_case) const {
    return has_row(bench_case) || bench_case.scope == Scope::kMemory
               ? std::set<std::string, std::less<>>()
               : compared_candidates(bench_case);
  }
  bool is_measured_with_fio(const Case& bench_case) const {
    const auto compared = candidates(bench_case);
    return is_measured(bench_case) && has_fio(bench_case) &&
           (compared.empty() || compared.contains(kFio));
  }

 private:
  std::set<std::string, std::less<>> compared_candidates(const Case& bench_case) const {
    std::set<std::string, std::less<>> names;
    for (const GoalRow& goal : all_goals())
      if (has_row(goal) && has_case(goal, bench_case))
        names.insert({std::string(kForebayFamily), goal.baseline});
    return names;
  }

  std::set<std::string> cases_;
  std::set<std::string> goals_;
  std::set<std::string> memory_goals_;
};

/// The bytes that fio writes and reads in its cases.
FioSizes fio_sizes(const RowSelection& selection, std::uint64_t payload_bytes) {
  FioSizes sizes;
  if (!fio_unavailable_reason().empty()) return sizes;
  for (const Case& bench_case : all_cases()) {
    if (!selection.is_measured_with_fio(bench_case)) continue;
    if (bench_case.readers == 0) sizes.written_bytes = payload_bytes;
    if (bench_case.readers > 0) sizes.read_bytes = step_bytes_of(bench_case, payload_bytes);
  }
  return sizes;
}

/// Adds how the setting for one direction was chosen, under `name`.
void add_tuning_json(const FioTuning& best,
                     const std::string& name,
                     std::uint64_t bytes,
                     nlohmann::json& bench_case) {
  auto list = nlohmann::json::array();
  for (const FioTrial& one : best.trials) {
    list.push_back({{"setting", text_of(one.setting)},
                    {"mb_s", static_cast<double>(bytes) / one.seconds / kMegabyte}});
  }
  if (best.fastest) bench_case[name] = text_of(best.fastest->setting);
  if (bytes > 0) bench_case["tried_" + name] = std::move(list);
  if (!best.failures.empty()) bench_case["failed_" + name] = best.failures;
}

/// The write and read bandwidth of the disk, with the best of fio's settings. If none works, fio is
/// left out, and the candidates are measured all the same.
FioTunings tune_fio(Context& context, const RowSelection& selection) {
  const FioSizes sizes = fio_sizes(selection, context.choose(kPayloadBytes));
  if (sizes.written_bytes == 0 && sizes.read_bytes == 0) return FioTunings();
  FioTunings choice = tune_fio_settings(context.directory() / "fio-settings", sizes);
  auto document = nlohmann::json::object();
  add_tuning_json(choice.writing, "writing", sizes.written_bytes, document);
  add_tuning_json(choice.reading, "reading", sizes.read_bytes, document);
  context.set_parameter("fio", std::move(document));
  for (const Case& bench_case : all_cases()) {
    const std::string why =
        failure_reason(bench_case.readers > 0 ? choice.reading : choice.writing);
    if (!why.empty() && selection.is_measured_with_fio(bench_case))
      context.skip(std::string(kFio) + " in " + bench_case.id, why);
  }
  return choice;
}

nlohmann::json document_of(const Case& bench_case, const Samples& samples) {
  auto candidates = nlohmann::json::object();
  for (const std::string& name : samples.names(bench_case.id)) {
    if (name == kFio) continue;  // fio's file operations are not compared
    candidates[name] = metrics_json(bench_case, samples.get(bench_case.id, name),
                                    samples.get(bench_case.id, kComputeOnly));
  }
  return {{"case", bench_case.id},
          {"writers", bench_case.writers},
          {"readers", bench_case.readers},
          {"sizes", name_of(bench_case.sizes)},
          {"computing", name_of(bench_case.compute_kind)},
          {"steps", bench_case.steps},
          {"candidates", std::move(candidates)}};
}

/// Rows that need no case. All ids were passed to is_selected() before.
Status bench_forebay_rows(Context& context) {
  if (!has_forebay_rows()) {
    for (const std::string& id : forebay_row_ids()) {
      if (context.is_selected(id)) context.skip(id, "measured by the program of the other MPI");
    }
    return {};
  }
  for (const auto bench : {&bench_calls, &bench_begin_step, &bench_overlap, &bench_job})
    if (auto done = bench(context); !done) return done;
  return {};
}

/// Adds rows as soon as their measurements are complete, so that a later failure or interruption
/// loses none of them.
class ResultRows {
 public:
  ResultRows(Context& context, const RowSelection& selection, const Samples& samples)
      : context_(context), selection_(selection), samples_(samples) {
    for (const Case& bench_case : all_cases())
      if (selection.is_measured(bench_case)) pending_cases_.insert(bench_case.id);
    add_complete_rows();
  }

  /// A case was measured, or left out.
  void finish(const Case& bench_case) {
    if (!samples_.names(bench_case.id).empty())
      documents_.push_back(document_of(bench_case, samples_));
    context_.set_parameter("cases", documents_);
    if (selection_.has_row(bench_case))
      if (auto row = row_of_case(bench_case, samples_)) context_.add(std::move(*row));
    pending_cases_.erase(bench_case.id);
    add_complete_rows();
  }

 private:
  void add_complete_rows() {
    for (const GoalRow& goal : all_goals()) {
      const bool is_pending = std::any_of(
          goal.cases.begin(), goal.cases.end(),
          [this](const Case& bench_case) { return pending_cases_.contains(bench_case.id); });
      if (!is_pending && selection_.has_row(goal))
        add(goal.id, [&] { return compare(goal, samples_); });
    }
    if (pending_cases_.contains(std::string(kMemoryCase))) return;
    for (const MemoryGoal& goal : kMemoryGoals)
      if (selection_.has_row(goal)) add(goal.id, [&] { return goal.row(samples_); });
  }

  template <class MakeRow>
  void add(const std::string& id, MakeRow make_row) {
    if (!added_.insert(id).second) return;
    auto row = make_row();
    if (row) context_.add(std::move(*row));
    if (!row) context_.skip(id, row.error());
  }

  Context& context_;
  const RowSelection& selection_;
  const Samples& samples_;
  std::set<std::string> pending_cases_;  // cases that will be measured
  std::set<std::string> added_;
  nlohmann::json documents_ = nlohmann::json::array();
};

/// Adds to `samples`, or records why the case is skipped.
void measure_case(Context& context,
                  const Case& bench_case,
                  RoundsSettings& settings,
                  Samples& samples) {
  if (std::max(bench_case.writers, bench_case.readers) > trial_harness().size()) {
    context.skip(bench_case.id,
                 "only " + std::to_string(trial_harness().size()) + " ranks are available");
    return;
  }
  settings.step_bytes = step_bytes_of(bench_case, context.choose(kPayloadBytes));
  const std::uint64_t needed_bytes =
      concurrent_copies(bench_case, settings) * context.choose(kPayloadBytes);
  if (auto room = context.require_space(needed_bytes); !room) {
    context.skip(bench_case.id, room.error().message());
    return;
  }
  settings.on_progress = [&](std::size_t done, std::size_t total) {
    context.report({done, total, "runs", bench_case.id});
  };
  for (const auto& [name, why] : run_case(bench_case, settings, samples))
    context.skip(name + " in " + bench_case.id, why);
  // Memory that Runtimes keep for the next dataset must not count for the next team.
  trial_harness().end_runtimes();
}

Status run_cases(Context& context, const RowSelection& selection) {
  RoundsSettings settings{.directory = context.directory() / "checkpoints",
                          .rounds = kRounds,
                          .computing_s = context.choose(kPhaseSeconds, kQuickPhaseSeconds),
                          .fio = {},
                          .on_progress = {}};
  if (auto made = make_empty(settings.directory); !made) return made;
  settings.fio = tune_fio(context, selection);
  Samples samples;
  ResultRows rows(context, selection, samples);
  for (const Case& bench_case : all_cases()) {
    if (!selection.is_measured(bench_case)) continue;
    settings.names = selection.candidates(bench_case);
    measure_case(context, bench_case, settings, samples);
    rows.finish(bench_case);
  }
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(checkpoint, "methods of checkpointing compared, until all bytes are on storage") {
  const RowSelection selection(context);
  if (!context.unknown_ids().empty()) return {};  // reported before hours of measurements
  const std::uint64_t payload_bytes = context.choose(kPayloadBytes);
  context.set_parameter("ranks", trial_harness().size());
  context.set_parameter("mpi", mpi_library());
  context.set_parameter("payload_bytes", payload_bytes);
  if (auto room = context.require_space(kCopiesMin * payload_bytes); !room) return room;
  if (const std::string why = fio_unavailable_reason(); !why.empty()) context.skip("fio", why);
  if (auto done = run_cases(context, selection); !done) return done;
  return bench_forebay_rows(context);
}

}  // namespace forebay::bench::checkpoint
