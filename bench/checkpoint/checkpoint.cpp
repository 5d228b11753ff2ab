// SPDX-License-Identifier: Apache-2.0
// forebay bench checkpoint: every way of checkpointing that this program has, side by side, to the
// moment when the bytes are on storage. docs/guides/bench-checkpoint.md says what each number is.
#include <algorithm>

#include <mpi.h>

#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/fio_jobs.hpp"
#include "bench/checkpoint/own_rows.hpp"
#include "bench/checkpoint/rounds_of_case.hpp"
#include "bench/checkpoint/samples.hpp"
#include "bench/checkpoint/stored.hpp"
#include "bench/frame/benchmark.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr double kPhaseSeconds = 0.25;
constexpr double kQuickPhaseSeconds = 0.01;
constexpr double kMegabyte = 1e6;

/// Of all steps together.
constexpr ByEffort<std::uint64_t> kPayloadBytes = {.quick = 16_MiB, .usual = 1_GiB, .full = 8_GiB};

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all = text;
  return all.substr(0, all.find('\n'));
}

bool answers(const GoalRow& goal, const Case& in) {
  return std::any_of(goal.cases.begin(), goal.cases.end(),
                     [&in](const Case& other) { return other.id == in.id; });
}

/// Goals that are worked out from what kMemoryCase has measured.
struct MemoryGoal {
  const char* id;
  tl::expected<ResultRow, std::string> (*row)(const Samples& samples);
};
constexpr MemoryGoal kMemoryGoals[] = {{"ckpt.memory_over_plan", &memory_over_plan},
                                       {"ckpt.brigade_memory", &brigade_memory}};

/// The program of the peers' libraries runs besides the other one, which measures these.
bool measures_own_rows() { return mpi_library().rfind("Open MPI", 0) != 0; }

/// Whether a case is measured: for its own row, or for a goal. Asks about all ids.
class Wanted {
 public:
  explicit Wanted(Context& context) {
    for (const MemoryGoal& goal : kMemoryGoals) {
      if (context.wants(goal.id) && measures_own_rows()) memory_goals_.insert(goal.id);
    }
    for (const Case& in : all_cases()) {
      if (context.wants(in.id)) cases_.insert(in.id);
    }
    for (const GoalRow& goal : all_goals()) {
      if (context.wants(goal.id)) goals_.insert(goal.id);
    }
    for (const std::string& id : own_ids())
      std::ignore = context.wants(id);
  }
  bool row(const Case& in) const { return cases_.contains(in.id); }
  bool row(const GoalRow& goal) const { return goals_.contains(goal.id); }
  bool row(const MemoryGoal& goal) const { return memory_goals_.contains(goal.id); }
  bool measured(const Case& in) const {
    if (in.scope == Scope::kMemory)
      return measures_own_rows() && (row(in) || !memory_goals_.empty());
    return row(in) || !compared_in(in).empty();
  }
  /// Who takes part in a case: all for its own row, else whom goals compare.
  std::set<std::string, std::less<>> names(const Case& in) const {
    return row(in) || in.scope == Scope::kMemory ? std::set<std::string, std::less<>>()
                                                 : compared_in(in);
  }
  bool measured_with_fio(const Case& in) const {
    const auto takes_part = names(in);
    return measured(in) && has_fio(in) && (takes_part.empty() || takes_part.contains(kFio));
  }

 private:
  std::set<std::string, std::less<>> compared_in(const Case& in) const {
    std::set<std::string, std::less<>> names;
    for (const GoalRow& goal : all_goals())
      if (row(goal) && answers(goal, in)) names.insert({std::string(kOurs), goal.over});
    return names;
  }

  std::set<std::string> cases_;
  std::set<std::string> goals_;
  std::set<std::string> memory_goals_;
};

/// What fio writes and reads in the cases that it takes part in.
FioSizes fio_sizes(const Wanted& wanted, std::uint64_t payload_bytes) {
  FioSizes sizes;
  if (!why_no_fio_jobs().empty()) return sizes;
  for (const Case& in : all_cases()) {
    if (!wanted.measured_with_fio(in)) continue;
    if (in.readers == 0) sizes.written_bytes = payload_bytes;
    if (in.readers > 0) sizes.read_bytes = step_bytes_of(in, payload_bytes);
  }
  return sizes;
}

/// Tells how one direction was chosen, by that name.
void tell_of(const FioBest& best,
             const std::string& name,
             std::uint64_t bytes,
             nlohmann::json& in) {
  auto list = nlohmann::json::array();
  for (const FioTried& one : best.tried) {
    list.push_back({{"setting", text_of(one.setting)},
                    {"mb_s", static_cast<double>(bytes) / one.seconds / kMegabyte}});
  }
  if (best.chosen) in[name] = text_of(best.chosen->setting);
  if (bytes > 0) in["tried_" + name] = std::move(list);
  if (!best.failed.empty()) in["failed_" + name] = best.failed;
}

/// What the disk takes and gives, by the best of fio's settings on this disk. Where none works, it
/// is left out: others can be measured all the same.
FioChoice tune_fio(Context& context, const Wanted& wanted) {
  const FioSizes sizes = fio_sizes(wanted, context.choose(kPayloadBytes));
  if (sizes.written_bytes == 0 && sizes.read_bytes == 0) return FioChoice();
  FioChoice choice = choose_fio(context.folder() / "fio-settings", sizes);
  auto told = nlohmann::json::object();
  tell_of(choice.writing, "writing", sizes.written_bytes, told);
  tell_of(choice.reading, "reading", sizes.read_bytes, told);
  context.set_parameter("fio", std::move(told));
  for (const Case& in : all_cases()) {
    const std::string why = why_none(in.readers > 0 ? choice.reading : choice.writing);
    if (!why.empty() && wanted.measured_with_fio(in))
      context.leave_out(std::string(kFio) + " in " + in.id, why);
  }
  return choice;
}

nlohmann::json document_of(const Case& in, const Samples& samples) {
  auto contenders = nlohmann::json::object();
  for (const std::string& name : samples.names(in.id)) {
    if (name == kFio) continue;  // whose file operations nobody compares with
    contenders[name] =
        metrics_json(in, samples.of(in.id, name), samples.of(in.id, kComputingAlone));
  }
  return {{"case", in.id},
          {"writers", in.writers},
          {"readers", in.readers},
          {"sizes", name_of(in.sizes)},
          {"computing", name_of(in.computing)},
          {"steps", in.steps},
          {"contenders", std::move(contenders)}};
}

/// Those that need no case. All ids are asked about in any case.
Status bench_own_rows(Context& context) {
  if (!measures_own_rows()) {
    for (const std::string& id : own_ids()) {
      if (context.wants(id)) context.leave_out(id, "the program of the other MPI measures it");
    }
    return {};
  }
  for (const auto bench : {&bench_calls, &bench_begin_step, &bench_overlap, &bench_job})
    if (auto done = bench(context); !done) return done;
  return {};
}

/// Adds rows as soon as there is all that they need, so that whatever ends the run later loses none
/// of them.
class Rows {
 public:
  Rows(Context& context, const Wanted& wanted, const Samples& samples)
      : context_(context), wanted_(wanted), samples_(samples) {
    for (const Case& in : all_cases())
      if (wanted.measured(in)) missing_.insert(in.id);
    add_answered();
  }

  /// A case that was measured, or left out.
  void finish(const Case& in) {
    if (!samples_.names(in.id).empty()) documents_.push_back(document_of(in, samples_));
    context_.set_parameter("cases", documents_);
    if (wanted_.row(in))
      if (auto row = row_of_case(in, samples_)) context_.add(std::move(*row));
    missing_.erase(in.id);
    add_answered();
  }

 private:
  void add_answered() {
    for (const GoalRow& goal : all_goals()) {
      const bool waits = std::any_of(goal.cases.begin(), goal.cases.end(),
                                     [this](const Case& in) { return missing_.contains(in.id); });
      if (!waits && wanted_.row(goal)) add(goal.id, [&] { return compare(goal, samples_); });
    }
    if (missing_.contains(std::string(kMemoryCase))) return;
    for (const MemoryGoal& goal : kMemoryGoals)
      if (wanted_.row(goal)) add(goal.id, [&] { return goal.row(samples_); });
  }

  template <class MakeRow>
  void add(const std::string& id, MakeRow make_row) {
    if (!answered_.insert(id).second) return;
    auto row = make_row();
    if (row) context_.add(std::move(*row));
    if (!row) context_.leave_out(id, row.error());
  }

  Context& context_;
  const Wanted& wanted_;
  const Samples& samples_;
  std::set<std::string> missing_;  // cases that will be measured
  std::set<std::string> answered_;
  nlohmann::json documents_ = nlohmann::json::array();
};

/// Adds to `samples`, or says why it cannot be.
void measure_case(Context& context, const Case& in, RoundsSettings& settings, Samples& samples) {
  if (std::max(in.writers, in.readers) > everybody().size()) {
    context.leave_out(in.id, "there are only " + std::to_string(everybody().size()) + " ranks");
    return;
  }
  settings.step_bytes = step_bytes_of(in, context.choose(kPayloadBytes));
  const std::uint64_t room_bytes = copies_at_a_time(in, settings) * context.choose(kPayloadBytes);
  if (auto room = context.require_space(room_bytes); !room) {
    context.leave_out(in.id, room.error().message());
    return;
  }
  settings.on_progress = [&](std::size_t done, std::size_t total) {
    context.report({done, total, "runs", in.id});
  };
  for (const auto& [name, why] : run_case(in, settings, samples))
    context.leave_out(name + " in " + in.id, why);
  // What they keep for the next dataset is not for the next team.
  everybody().end_runtimes();
}

Status run_cases(Context& context, const Wanted& wanted) {
  RoundsSettings settings{.folder = context.folder() / "checkpoints",
                          .rounds = kRounds,
                          .computing_s = context.choose(kPhaseSeconds, kQuickPhaseSeconds),
                          .fio = {},
                          .on_progress = {}};
  if (auto made = make_empty(settings.folder); !made) return made;
  settings.fio = tune_fio(context, wanted);
  Samples samples;
  Rows rows(context, wanted, samples);
  for (const Case& in : all_cases()) {
    if (!wanted.measured(in)) continue;
    settings.names = wanted.names(in);
    measure_case(context, in, settings, samples);
    rows.finish(in);
  }
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(checkpoint, "ways of checkpointing side by side, until all is on storage") {
  const Wanted wanted(context);
  if (!context.unknown_ids().empty()) return {};  // which is told before hours of measuring
  const std::uint64_t payload_bytes = context.choose(kPayloadBytes);
  context.set_parameter("ranks", everybody().size());
  context.set_parameter("mpi", mpi_library());
  context.set_parameter("payload_bytes", payload_bytes);
  if (auto room = context.require_space(kCopiesMin * payload_bytes); !room) return room;
  if (const std::string why = why_no_fio_jobs(); !why.empty()) context.leave_out("fio", why);
  if (auto done = run_cases(context, wanted); !done) return done;
  return bench_own_rows(context);
}

}  // namespace forebay::bench::checkpoint
